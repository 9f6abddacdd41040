// The pictures: text, DOT, HTML and trace of schedules made by hand.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/output/dot.hpp"
#include "engine/output/html.hpp"
#include "engine/output/pipeline.hpp"
#include "engine/output/steady_state.hpp"
#include "engine/output/style.hpp"
#include "engine/output/svg.hpp"
#include "engine/output/text.hpp"
#include "engine/output/trace.hpp"
#include "graph/problem_io.hpp"
#include "graph/verify.hpp"

namespace output_test {

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
  CHECK(count(page, "url(") == count(page, "url(#head)"));  // the head of arrows
  for (const char* outside : {"http:", "https:", "@import", "src=", "href="}) {
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
  // The timeline has no empty row of it beside the channel's.
  Solution solution;
  solution.schedule = s;
  const std::string page = html_page(p, solution);
  CHECK(count(page, ">COPY</b><i>75.0 %") == 1);
  CHECK(count(page, ">A</b><i>50.0 %") == 1);
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
    if (phase == "M" || phase == "C" || phase == "s" || phase == "f") continue;
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

TEST_CASE("trace: an arrow from each op to those that wait for it, through ops without cycles") {
  const Problem problem = rich();
  const Solution solution = rich_solution(problem);
  const auto trace = nlohmann::json::parse(trace_events(problem, solution, 3));
  using Where = std::tuple<int, int>;  // process, thread
  std::map<Where, std::vector<nlohmann::json>> boxes;
  std::map<int, nlohmann::json> begun;
  std::multiset<std::string> arrows;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") boxes[{event["pid"], event["tid"]}].push_back(event);
    // To Perfetto a thread with its process's number is the "main thread", not a slot.
    if (event["ph"] == "X" || event["ph"] == "i") CHECK(event["pid"] != event["tid"]);
  }
  const auto box_at = [&](const nlohmann::json& event) {
    for (const auto& box : boxes[{event["pid"], event["tid"]}])
      if (box["ts"] <= event["ts"] &&
          event["ts"].get<Cycle>() < box["ts"].get<Cycle>() + box["dur"].get<Cycle>())
        return box;
    FAIL("an arrow in no box: " << event.dump());
    return nlohmann::json();
  };
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "s") CHECK(begun.emplace(event["id"].get<int>(), event).second);
    if (event["ph"] != "f") continue;
    const auto from = box_at(begun.at(event["id"].get<int>())), to = box_at(event);
    CHECK(from["ts"].get<Cycle>() + from["dur"].get<Cycle>() <= to["ts"].get<Cycle>());
    CHECK(event["ts"] == to["ts"].get<double>() + 0.5);
    CHECK(begun.at(event["id"].get<int>())["ts"] ==
          from["ts"].get<double>() + from["dur"].get<double>() - 0.5);
    arrows.insert(from["name"].get<std::string>() + from["args"]["iteration"].dump() + " " +
                  to["name"].get<std::string>() + to["args"]["iteration"].dump());
  }
  std::multiset<std::string> expected;
  for (int i = 0; i < 5; ++i) {
    expected.insert("s0_mma" + std::to_string(i) + " s0_exp" + std::to_string(i));  // by the view
    if (i > 0) expected.insert("s0_exp" + std::to_string(i - 1) + " s0_exp" + std::to_string(i));
  }
  CHECK(arrows == expected);
}

TEST_CASE("trace: the counters are what is held, cycle by cycle") {
  const Problem problem = rich();
  const Solution solution = rich_solution(problem);
  const Schedule& s = *solution.schedule;
  const auto trace = nlohmann::json::parse(trace_events(problem, solution, 3));
  std::map<std::string, std::map<Cycle, Amount>> counters;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "C")
      CHECK(counters[event["name"]].emplace(event["ts"], event["args"]["held"]).second);
  CHECK(counters.size() == 2);  // nothing is held on wg1, nor loaded to a memory
  const auto at = [](int v) { return static_cast<std::size_t>(v); };
  for (Cycle cycle = 0; cycle < 150; ++cycle) {
    Amount registers = 0, memory = 0;
    for (int v = 0; v < 4; ++v)
      for (Cycle i = 0; i < 5; ++i) {
        Cycle last = -1;
        for (const Edge& e : problem.edges)
          if (e.from == v)
            last = std::max(last, s.start[at(e.to)] + (i + e.distance) * 12 + e.hold);
        if (s.start[at(v)] + i * 12 > cycle || cycle >= last) continue;
        registers += problem.ops[at(v)].registers;
        for (const Footprint& f : problem.ops[at(v)].footprints) memory += f.amount;
      }
    const auto held = [&](const char* name) {
      const auto after = counters.at(name).upper_bound(cycle);
      return after == counters.at(name).begin() ? 0 : std::prev(after)->second;
    };
    CAPTURE(cycle);
    CHECK(held("registers of wg0") == registers);
    CHECK(held("smem") == memory);
  }
}

TEST_CASE("what made a schedule is in every picture") {
  const Problem problem = rich();
  Solution solution = rich_solution(problem);
  const auto pictures = [&] {
    return std::vector<std::string>{
        text_picture(problem, solution),
        html_page(problem, solution),
        dot_graph(problem, solution),
        svg_picture(problem, solution),
        trace_events(problem, solution),
        html_diff(problem, solution, rich_solution(problem), "a", "b"),
    };
  };
  for (const std::string& picture : pictures()) CHECK_FALSE(contains(picture, "Twill 1.2.3"));
  solution.made_by = MadeBy{"1.2.3", "a\"b<c",        std::string(64, '0'),
                            "8+4",   {"units.SFU=2"}, {{"reading", "paper"}}};
  solution.engine = "order";
  solution.options = {{"seed", "7"}};
  for (const std::string& picture : pictures()) {
    CHECK(contains(picture, "Twill 1.2.3: machine a"));
    CHECK(contains(picture, ", layout 8+4, units.SFU=2; reading paper"));
  }
  CHECK(contains(html_page(problem, solution), "engine order, seed 7"));
  CHECK(contains(trace_events(problem, solution), "engine order, seed 7"));
}

TEST_CASE("SVG: well formed, nothing from elsewhere, names escaped, each op in its place") {
  Problem problem = rich();
  problem.name = "<script>alert('x')</script>";
  problem.ops[3].id = "e<b>\"&'";
  const Solution solution = rich_solution(problem);
  const std::string svg = svg_picture(problem, solution);
  CHECK(html_fault(svg) == "");
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK_FALSE(contains(svg, "<script"));
  CHECK_FALSE(contains(svg, "<b>"));
  CHECK(count(svg, "http") == 1);
  CHECK(contains(svg, "I = 12 (proved smallest)"));
  // The three pieces of s0_mma on its slot, two lanes of two on its unit; s0_exp once on each.
  CHECK(count(svg, "<title>s0_mma</title>") == 3 + 2 * 2);
  CHECK(count(svg, "<title>e&lt;b&gt;&quot;&amp;&#39;</title>") == 4);
  Solution none;
  none.problem = problem.name;
  none.status = Status::infeasible;
  CHECK(html_fault(svg_picture(problem, none)) == "");
  CHECK(contains(svg_picture(problem, none), "no schedule"));
}

TEST_CASE("the page: arrows between slots, what binds, shapes explained") {
  const Problem problem = rich();
  const Solution solution = rich_solution(problem);
  const std::string page = html_page(problem, solution);
  // ld -> s0_mma at 5 and view -> s0_exp at 30, which come from other slots: of one iteration each
  // that begins in the two periods, and of those that begin before and end there.
  CHECK(count(page, "data-from=\"0\" data-to=\"1\"") == 2);
  CHECK(count(page, "data-from=\"2\" data-to=\"3\"") == 2);
  CHECK(count(page, "data-from=\"1\"") == 0);  // on one slot
  CHECK(contains(page, "What binds"));
  CHECK(contains(page, "Bounds on I"));
  CHECK(contains(page, "<b>136</b> of 200 registers a thread of wg0"));
  CHECK(contains(page, "pale: goes on"));
  CHECK(contains(page, "no cycles: a load"));
  const std::string diff =
      html_diff(problem, solution, solved(problem, 13, {0, 5, 30, 31}, {0, 2, 2, 1}), "a<b", "c");
  CHECK(html_fault(diff) == "");
  CHECK(contains(diff, "a&lt;b: I = 12"));
  CHECK(contains(diff, "c: I = 13"));
  CHECK(contains(diff, "1 op of 4 start"));
  CHECK(contains(diff, "data-scale=\"0.923077\""));
  CHECK(contains(diff, "data-scale=\"1.000000\""));
  CHECK(count(diff, " moved\" data-op=\"3\"") > 0);
  CHECK(count(diff, " moved\" data-op=\"1\"") == 0);
}

namespace {

struct Lab {
  double l, a, b;
};

/// CIE 1976 Lab (white D65) of an sRGB colour, as someone sees it whose cones make `seen` of linear
/// light.
Lab lab_of(const std::string& hex, const std::array<double, 9>& seen) {
  std::array<double, 3> light{}, saw{};
  for (std::size_t k = 0; k < 3; ++k) {
    const double c = std::stoi(hex.substr(1 + 2 * k, 2), nullptr, 16) / 255.0;
    light[k] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  for (std::size_t k = 0; k < 3; ++k)
    saw[k] = std::clamp(
        seen[3 * k] * light[0] + seen[3 * k + 1] * light[1] + seen[3 * k + 2] * light[2], 0.0, 1.0);
  const auto f = [](double t) {
    return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  };
  const double x = f((0.4124 * saw[0] + 0.3576 * saw[1] + 0.1805 * saw[2]) / 0.95047);
  const double y = f(0.2126 * saw[0] + 0.7152 * saw[1] + 0.0722 * saw[2]);
  const double z = f((0.0193 * saw[0] + 0.1192 * saw[1] + 0.9505 * saw[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

}  // namespace

TEST_CASE("the colours of six slots are told apart, by the colour-blind too") {
  // Machado, Oliveira and Fernandes 2009, severity 1: protan, deutan, tritan; and everybody else.
  const std::array<double, 9> eyes[] = {
      {1, 0, 0, 0, 1, 0, 0, 0, 1},
      {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
      {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
      {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367,
       0.303900}};
  Problem problem;
  problem.warps = {{"load", 1, 8, true}};
  for (int w = 0; w < 5; ++w) problem.warps.push_back({"w" + std::to_string(w), 4, 8, false});
  const std::vector<Colour> colours = slot_colours(problem, Solution());
  REQUIRE(colours.size() == 6);
  for (const std::array<double, 9>& eye : eyes)
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        CAPTURE(colours[i].hex);
        CAPTURE(colours[j].hex);
        const Lab a = lab_of(colours[i].hex, eye), b = lab_of(colours[j].hex, eye);
        CHECK(std::hypot(a.l - b.l, a.a - b.a, a.b - b.b) >= 25);
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

}  // namespace output_test
