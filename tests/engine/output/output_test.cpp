// The pictures: text, DOT, HTML and trace of schedules made by hand.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/output/dot.hpp"
#include "engine/output/html.hpp"
#include "engine/output/pipeline.hpp"
#include "engine/output/steady_state.hpp"
#include "engine/output/style.hpp"
#include "engine/output/text.hpp"
#include "engine/output/trace.hpp"
#include "graph/problem_io.hpp"
#include "graph/verify.hpp"

using namespace twill;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Problem figure_1() {
  return read_problem(std::string(TWILL_TEST_DATA) + "/examples/figure-1.problem.json");
}

Solution solved(const Problem& problem, Cycle ii, std::vector<Cycle> start, std::vector<int> warp) {
  Solution solution;
  solution.problem = problem.name;
  solution.status = Status::optimal;
  solution.stages = "complete";
  solution.ii_lower_bound = ii;
  Schedule schedule{ii, 0, std::move(start), std::move(warp)};
  schedule.length = schedule_length(problem, schedule.start);
  solution.length_lower_bound = schedule.length;
  solution.schedule = schedule;
  return solution;
}

/// Figure 1d of the paper: S 0, P 2, O 3 at I = 2.
Solution figure_1d(const Problem& problem) {
  return solved(problem, 2, {0, 2, 3}, {0, 0, 0});
}

/// Two slots, a memory, a unit of two instances, work longer than I, a zero-cycle op, a carried
/// value.
Problem rich() {
  Problem p;
  p.name = "rich";
  p.units = {{"TC", 2}, {"SFU", 1}};
  p.memories = {{"smem", 1000}};
  p.warps = {{"load", 1, 24, true}, {"wg0", 4, 200, false}, {"wg1", 4, 200, false}};
  Op load;
  load.id = "ld", load.kind = "tma_load", load.variable_latency = true, load.streaming = true;
  Op mma;
  mma.id = "s0_mma", mma.kind = "gemm", mma.cycles = 25, mma.reservations = {{0, 0, 12, 2}},
  mma.footprints = {{0, 300}};
  Op view;
  view.id = "view";
  Op exp;
  exp.id = "s0_exp", exp.kind = "exp2", exp.cycles = 8, exp.registers = 64, exp.width = 4,
  exp.reservations = {{1, 0, 8, 1}};
  p.ops = {load, mma, view, exp};
  p.edges = {{0, 1, 0, 0, false, 0},
             {1, 2, 25, 0, false, 0},
             {2, 3, 0, 0, false, 0},
             {3, 3, 8, 1, false, 0}};
  return p;
}

Solution rich_solution(const Problem& p) {
  return solved(p, 12, {0, 5, 30, 30}, {0, 2, 2, 1});
}

/// Every tag is closed, in order; attribute values hold no bare '<'. Void elements as in HTML.
std::string html_fault(const std::string& page) {
  std::vector<std::string> stack;
  std::size_t at = 0;
  while ((at = page.find('<', at)) != std::string::npos) {
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) return "tag without end";
    std::string tag = page.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with("!DOCTYPE")) continue;
    if (tag.find('<') != std::string::npos) return "bare < in " + tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.starts_with("/")) {
      if (stack.empty() || "/" + stack.back() != tag) return "unexpected <" + tag + ">";
      stack.pop_back();
    } else if (!tag.ends_with("/") && name != "meta") {
      stack.push_back(name);
      if (name == "style" || name == "script") {
        at = page.find("</" + name + ">", at);
        if (at == std::string::npos) return name + " without end";
      }
    }
  }
  return stack.empty() ? "" : "open: " + stack.back();
}

}  // namespace

TEST_CASE("Figure 1f: the pipelined loop of the paper's running example") {
  const Problem problem = figure_1();
  const Solution solution = figure_1d(problem);
  REQUIRE_FALSE(verify(problem, *solution.schedule));
  TextOptions options;
  options.width = 80;
  options.ascii = true;
  const std::string text = text_picture(problem, solution, options);
  CHECK(contains(text,
                 "figure-1: optimal\n"
                 "  I  2 cycles  (lower bound 2: smallest possible)\n"
                 "  L  4 cycles  (lower bound 4: smallest possible)\n"
                 "  2 stages, 3 ops\n"));
  CHECK(contains(text,
                 "  cycle  0       1\n"
                 "  TC    ||S[i+1]=|O[i]===| 100.0 %\n"
                 "  SFU   ||P[i]===........|  50.0 %\n"));
  CHECK(contains(text,
                 "  w0    ||S[i+1]=|O[i]===|\n"
                 "        ||P[i]===........|\n"));
  CHECK(contains(text,
                 "prologue\n  cycle  w0\n      0  S[0]\n"
                 "steady state, for i = 0 .. n-2, every 2 cycles\n  cycle  w0\n"
                 "      0  S[i+1]\n         P[i]\n      1  O[i]\n"
                 "epilogue\n  cycle  w0\n      0  P[n-1]\n      1  O[n-1]\n"));
  CHECK(contains(text, "  3  O         w0        3    1      1       1     2       1  TC\n"));
}

TEST_CASE("the text keeps to its width, to ASCII and to plain text when asked") {
  const Problem problem = rich();
  const Solution solution = rich_solution(problem);
  for (int width : {80, 100, 120, 200}) {
    CAPTURE(width);
    for (const bool ascii : {false, true}) {
      TextOptions options;
      options.width = width;
      options.ascii = ascii;
      const std::string text = text_picture(problem, solution, options);
      std::size_t from = 0;
      for (std::size_t end; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
        const std::string line = text.substr(from, end - from);
        CAPTURE(line);
        // Headlines are sentences and may be longer; tables and timelines are not.
        if (line.starts_with("  ")) CHECK(display_width(line) <= static_cast<std::size_t>(width));
      }
      CHECK_FALSE(contains(text, "\x1b"));
      bool pure = true;
      for (char c : text) pure = pure && static_cast<unsigned char>(c) < 0x80;
      CHECK(pure == ascii);
    }
  }
  TextOptions colour;
  colour.colour = true;
  CHECK(contains(text_picture(problem, solution, colour), "\x1b[30;48;5;"));
}

TEST_CASE("channels: a row each that is used, with its load and arithmetic; what binds is marked") {
  Problem problem = rich();
  problem.channels = {{"L2<&", {7, 2}}, {"unused", {1, 1}}, {"issue", {4, 1}}, {"half", {3, 1}}};
  problem.ops[0].streaming = false;
  problem.ops[0].in_flight = true;
  problem.ops[0].traffic = {{0, {20, 1}}, {2, {1, 1}}, {3, {18, 1}}};
  problem.ops[1].traffic = {{0, {20, 1}}, {1, {0, 1}}, {2, {1, 3}}};
  const Solution solution = rich_solution(problem);  // I = 12, 40 / 3.5 = 11.4
  const SteadyState state = steady_state(problem, *solution.schedule);
  REQUIRE(state.channels.size() == 3);
  CHECK(state.channels[0].busy == doctest::Approx(40.0 / 42));
  CHECK(state.channels[0].least == 12);
  CHECK(state.channels[0].binds);
  CHECK(state.channels[0].sum == "2 x 20 = 40 at 7/2 a cycle");
  CHECK(state.channels[1].channel == 2);
  CHECK(state.channels[1].busy == doctest::Approx(4.0 / 3 / 48));
  CHECK(state.channels[1].least == 1);
  CHECK_FALSE(state.channels[1].binds);
  CHECK(state.channels[2].busy == doctest::Approx(0.5));

  TextOptions options;
  options.width = 80;
  CHECK(contains(text_picture(problem, solution, options),
                 "Channels, share of I that each is busy\n"
                 "  L2<&           95.2 %  I >= 12, binds: 2 x 20 = 40 at 7/2 a cycle\n"
                 "  issue           2.8 %  I >= 1: 1 + 1/3 at 4 a cycle\n"
                 "  half           50.0 %  I >= 6: 18 at 3 a cycle\n"));
  Problem long_sum = problem;
  for (int v = 0; v < 3; ++v)
    long_sum.ops[static_cast<std::size_t>(v)].traffic = {{2, {123'456'789 + v, 10'000'000 + v}}};
  const std::string cut = text_picture(long_sum, solution, options);
  CHECK(contains(cut, "I >= 10: "));
  CHECK(contains(cut, "…\n"));

  const std::string page = html_page(problem, solution, {});
  CHECK(html_fault(page) == "");
  CHECK(count(page, "<g class=\"level") == 3);
  CHECK(count(page, "<g class=\"level binds\">") == 1);
  CHECK(contains(page, "L2&lt;&amp;"));
  CHECK_FALSE(contains(page, "L2<&"));
  CHECK(contains(page,
                 "<td class=\"n\">95.2 %</td><td class=\"n\">12</td><td "
                 "class=\"binds\">binds</td><td>2 x 20 = 40 at 7/2 a cycle</td>"));
  CHECK(contains(page, "]\nin flight, start 0"));
  CHECK(contains(dot_graph(problem, solution), ", bound by channel L2<&\""));

  // What is not bound by a channel says so nowhere, and without channels there are no rows.
  problem.channels[0].rate = {4, 1};
  CHECK_FALSE(contains(dot_graph(problem, solution), "bound by"));
  CHECK_FALSE(contains(html_page(problem, solution, {}), "<g class=\"level binds"));
  CHECK_FALSE(contains(text_picture(problem, solution, options), "binds"));
  drop_channels(problem);
  CHECK_FALSE(contains(html_page(problem, solution, {}), "<g class=\"level"));
  CHECK_FALSE(contains(text_picture(problem, solution, options), "Channels"));
}

TEST_CASE("steady state: work is cut at the period, counted and coloured by iteration") {
  const Problem problem = rich();
  const SteadyState state = steady_state(problem, *rich_solution(problem).schedule);
  CHECK(state.stages == 3);
  CHECK(state.busy[0] == doctest::Approx(1.0));  // 12 of 12 cycles on both instances
  CHECK(state.busy[1] == doctest::Approx(8.0 / 12));
  CHECK(state.units[0].count == 2);
  // s0_mma runs 25 cycles from 5 at I = 12: [5,12) now, [0,12) of the iteration before, [0,6) of
  // the one before that.
  std::map<Cycle, Cycle> by_iteration;
  for (const BusyPiece& piece : state.slots[2].pieces) {
    by_iteration[piece.iteration] += piece.end - piece.begin;
  }
  CHECK(by_iteration == std::map<Cycle, Cycle>{{2, 7}, {1, 12}, {0, 6}});
  CHECK(state.slots[2].count == 3);
  // Its result (300 bytes of smem) lives [5, 30): two whole periods and one cycle.
  CHECK(state.lifetime[1] == 25);
  CHECK(state.copies[1] == 3);
  CHECK(state.memories[0].peak == 900);
  CHECK(state.memories[0].peak_cycle == 5);
  // s0_exp feeds itself one iteration later: live one period, one copy of 64 registers.
  CHECK(state.registers[1].peak == 64);
  CHECK(state.registers[1].capacity == 200);
}

TEST_CASE("pressure agrees with counting every residue") {
  const Problem problem = rich();
  for (Cycle ii = 1; ii <= 40; ++ii) {
    const Solution solution = solved(problem, ii, {0, 5, 30, 30}, {0, 2, 2, 1});
    const SteadyState state = steady_state(problem, *solution.schedule);
    Amount peak = 0;
    for (Cycle s = 0; s < ii; ++s) {
      Amount sum = 0;
      for (Cycle t = 5; t < 5 + state.lifetime[1]; ++t) sum += t % ii == s ? 300 : 0;
      peak = std::max(peak, sum);
      Amount drawn = 0;
      for (const auto& [from, amount] : state.memories[0].steps) {
        if (from <= s) drawn = amount;
      }
      CHECK(drawn == sum);
    }
    CHECK(state.memories[0].peak == peak);
  }
}

TEST_CASE("pipeline: every iteration issues every op once, in the schedule's cycles") {
  const Problem problem = rich();
  const Solution solution = rich_solution(problem);
  const Schedule& schedule = *solution.schedule;
  const SteadyState state = steady_state(problem, schedule);
  const Pipeline loop = pipeline(state);
  const Cycle stages = state.stages;
  for (const Cycle n : {stages, stages + 1, stages + 5}) {
    std::map<std::pair<int, Cycle>, Cycle> issued;
    const auto issue = [&](int op, Cycle iteration, Cycle cycle) {
      CHECK(issued.emplace(std::pair(op, iteration), cycle).second);
    };
    for (const Instruction& x : loop.prologue) issue(x.op, x.iteration, x.cycle);
    for (Cycle i = 0; i <= n - stages; ++i) {
      const Cycle base = (stages - 1 + i) * state.ii;
      for (const Instruction& x : loop.steady) issue(x.op, i + x.iteration, base + x.cycle);
    }
    for (const Instruction& x : loop.epilogue) issue(x.op, n + x.iteration, n * state.ii + x.cycle);
    CHECK(issued.size() == problem.ops.size() * static_cast<std::size_t>(n));
    for (const auto& [key, cycle] : issued) {
      CHECK(key.second >= 0);
      CHECK(key.second < n);
      CHECK(cycle == schedule.start[static_cast<std::size_t>(key.first)] + key.second * state.ii);
    }
  }
  CHECK(pipeline(state, 1).abridged);
  CHECK_FALSE(loop.abridged);
}

TEST_CASE("issue order respects dependences met in the same cycle") {
  Problem p = rich();
  p.ops[2].id = "late";  // late (zero cycles, op 2) must come before s0_exp (op 3) on another slot
  const Solution solution = solved(p, 12, {0, 5, 30, 30}, {0, 2, 2, 1});  // slot of 3 is before 2's
  const SteadyState state = steady_state(p, *solution.schedule);
  std::map<int, std::size_t> place;
  for (std::size_t k = 0; k < state.order.size(); ++k) place[state.order[k]] = k;
  CHECK(place[2] < place[3]);
}

TEST_CASE("DOT: Figure 9's colours, carried edges dashed, hand-overs bold, names escaped") {
  Problem problem = rich();
  problem.name = "a \"quoted\\ name";
  const Solution solution = rich_solution(problem);
  const std::string dot = dot_graph(problem, solution);
  CHECK(dot.starts_with("digraph \"a \\\"quoted\\\\ name\" {\n"));
  CHECK(contains(dot, "n3 -> n3 [style=dashed, constraint=false, label=\"1\"];\n"));
  CHECK(contains(dot, "n2 -> n3 [penwidth=2.6];\n"));
  CHECK(contains(dot, "n1 -> n2;\n"));
  const std::vector<Colour> colours = slot_colours(problem, solution);
  CHECK(contains(dot,
                 std::string("n0 [label=\"ld\\n@0  +0  stage 0\", fillcolor=\"") + colours[0].hex));
  CHECK(contains(
      dot, std::string("n3 [label=\"s0_exp\\n@30  +8  stage 2\", fillcolor=\"") + colours[1].hex));
  CHECK(colours[0].hex != colours[1].hex);
  CHECK(count(dot, "{") == count(dot, "}"));
}

TEST_CASE("HTML: well formed, self-contained, names escaped") {
  Problem problem = rich();
  problem.name = "<script>alert('x')</script>";
  problem.ops[3].id = "s0_<b>\"&'";
  problem.warps[1].name = "<i>";
  Solution solution = rich_solution(problem);
  solution.ring_depths = {{"ld", 2}};
  const std::string page = html_page(problem, solution, {{"SMEM", 40}});
  CHECK(html_fault(page) == "");
  CHECK(count(page, "<script>") == 1);
  CHECK_FALSE(contains(page, "<b>\"&'"));
  CHECK_FALSE(contains(page, "<i>]"));
  CHECK(contains(page, "s0_&lt;b&gt;&quot;&amp;&#39;[i"));
  for (const char* outside : {"http:", "https:", "url(", "@import", "src=", "href="}) {
    CAPTURE(outside);
    CHECK_FALSE(contains(page, outside));
  }
  CHECK(contains(page, "prefers-color-scheme"));
  CHECK(contains(page, "more than I"));  // SMEM: 40 > 12
  // Two periods: each of the three pieces of s0_mma twice in its slot.
  CHECK(count(page, "data-op=\"1\" data-short") == 2 * (3 + 2 * 2));
}

TEST_CASE("a unit through which loads in flight pass is as busy as its channel") {
  Problem p;
  p.name = "flight";
  p.units = {{"COPY", 1}, {"A", 1}};
  p.channels = {{"COPY", {1, 1}}};
  p.warps = {{"load", 1, 8, true}, {"w", 1, 8, false}};
  p.ops.resize(2);
  p.ops[0].id = "ld";
  p.ops[0].variable_latency = p.ops[0].in_flight = true;
  p.ops[0].traffic = {{0, {3, 1}}};
  p.ops[1].id = "a";
  p.ops[1].cycles = 2;
  p.ops[1].reservations = {{1, 0, 2, 1}};
  p.edges = {{.from = 0, .to = 1, .delay = 5}};
  const Schedule s{4, 7, {0, 5}, {0, 1}};
  const SteadyState state = steady_state(p, s);
  CHECK(state.busy[0] == doctest::Approx(0.75));
  CHECK(state.busy[1] == doctest::Approx(0.5));
}

TEST_CASE("bandwidth sums are in clocks, I in cycles of cycle_unit clocks") {
  Problem problem = figure_1();
  const Solution solution = figure_1d(problem);
  TextOptions options;
  options.bandwidth = {{"SMEM", 3}};
  CHECK(contains(text_picture(problem, solution, options),
                 "bandwidth of SMEM: 3 clocks an iteration, 150.0 % of I  WARNING"));
  problem.cycle_unit = 2.0;
  CHECK(contains(text_picture(problem, solution, options), "3 clocks an iteration, 75.0 % of I\n"));
}

TEST_CASE("without a schedule every format says so") {
  const Problem problem = figure_1();
  Solution none;
  none.problem = problem.name;
  none.status = Status::infeasible;
  none.conflict = {"registers of w0: <S>"};
  CHECK(contains(text_picture(problem, none), "figure-1: infeasible"));
  CHECK(contains(text_picture(problem, none), "registers of w0: <S>"));
  const std::string page = html_page(problem, none);
  CHECK(html_fault(page) == "");
  CHECK(contains(page, "registers of w0: &lt;S&gt;"));
  CHECK(contains(dot_graph(problem, none), "n0 [label=\"S\\n+1\"]"));
  CHECK(nlohmann::json::parse(trace_events(problem, none))["traceEvents"].is_array());
}

TEST_CASE("trace: parses, and what an iteration reserves and executes adds up") {
  const Problem problem = rich();
  const Solution solution = rich_solution(problem);
  const auto trace = nlohmann::json::parse(trace_events(problem, solution, 3));
  std::map<std::pair<std::string, int>, Cycle> executed;
  Cycle reserved = 0;
  Cycle instants = 0;
  std::map<std::pair<int, int>, std::vector<std::pair<Cycle, Cycle>>> rows;
  for (const auto& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "M") continue;
    const Cycle begin = event["ts"];
    const std::string name = event["name"];
    const int iteration = event["args"]["iteration"];
    if (phase == "i") {
      ++instants;
      continue;
    }
    REQUIRE(phase == "X");
    const Cycle length = event["dur"];
    rows[{event["pid"].get<int>(), event["tid"].get<int>()}].emplace_back(begin, begin + length);
    if (event["pid"] == 1) {
      reserved += length * event["args"]["amount"].get<Cycle>();
    } else {
      executed[{name, iteration}] += length;
      CHECK(begin == event["args"]["start"].get<Cycle>() + Cycle{12} * iteration);
    }
  }
  const int iterations = 2 + 3;  // two stages of prologue, three steady periods
  CHECK(executed.size() == 2 * iterations);
  for (const auto& [key, cycles] : executed) CHECK(cycles == (key.first == "s0_mma" ? 25 : 8));
  CHECK(reserved == iterations * (2 * 12 + 8));
  CHECK(instants == 2 * iterations);
  for (auto& [row, spans] : rows) {  // a row never holds two overlapping events
    std::sort(spans.begin(), spans.end());
    for (std::size_t k = 1; k < spans.size(); ++k) CHECK(spans[k - 1].second <= spans[k].first);
  }
}

TEST_CASE("extremes: many stages, work far longer than I, hostile names") {
  Problem p;
  p.name = "x\x1b[31m";
  p.warps = {{"w\n0", 1, 1, false}};
  Op op;
  op.id = "a\tb";
  op.cycles = 1'000'000'000;
  p.ops = {op, op};
  p.ops[1].id = "c";
  const Solution solution = solved(p, 1, {0, 1'000'000'000}, {0, 0});
  const std::string text = text_picture(p, solution);
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK(contains(text, "x?[31m: optimal"));
  CHECK(contains(text, "the steady state with i = -1000000000 .. -1, without iterations below 0"));
  CHECK(text.size() < 10'000);
  CHECK(html_page(p, solution).size() < 100'000);
  CHECK(nlohmann::json::parse(trace_events(p, solution))["traceEvents"].size() <= 60'020);
}
