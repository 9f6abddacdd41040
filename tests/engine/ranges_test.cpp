// Ranges of costs: random small machines and kernels, chunked chains among them. The schedule of
// the worst ends is judged at random places of the ranges; what the report says is solved again
// with plain numbers.
#include "engine/include/twill_ranges.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/lowering.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace ranges_test {

using namespace twill;
using namespace twill::test;
using Json = nlohmann::ordered_json;

namespace {

Json range(Random& random, std::int64_t least, std::int64_t most) {
  std::int64_t all[] = {random.range(least, most), random.range(least, most),
                        random.range(least, most)};
  std::sort(std::begin(all), std::end(all));
  if (random.percent(25)) return all[1];
  return {{"nominal", all[1]}, {"low", all[0]}, {"high", all[2]}};
}

Json terms(Random& random, const char* measure) {
  Json list = Json::array({{{"measure", measure}, {"rate", range(random, 40, 400)}}});
  if (random.percent(40))
    list.push_back({{"measure", "constant"}, {"factor", range(random, 1, 6)}});
  return list;
}

Json random_machine(Random& random) {
  Json machine = {
      {"format", "twill.machine"},
      {"version", 2},
      {"name", "m"},
      {"reading", random.percent(70) ? "machine" : "paper"},
      {"units", {{"TMA", 1}, {"TC", 1}, {"ALU", 1}, {"SFU", random.range(1, 2)}}},
      {"channels", {{"bus", {{"rate", range(random, 60, 300)}, {"source", "s"}}}}},
      {"memories", {{"smem", {{"capacity", random.range(4, 12) * 1024}, {"measure", "bytes"}}}}},
      {"spill",
       {{"base", range(random, 0, 6)},
        {"per_line", range(random, 0, 1)},
        {"line_bytes", 512},
        {"signal", range(random, 0, 2)}}}};
  Json slots =
      Json::array({{{"name", "load"}, {"width", 1}, {"registers", 200}, {"variable_latency", true}},
                   {{"name", "w0"}, {"width", 4}, {"registers", random.range(20, 60)}}});
  if (random.percent(70))
    slots.push_back({{"name", "w1"}, {"width", 4}, {"registers", random.range(20, 60)}});
  machine["layouts"] = Json::array({{{"name", "l"}, {"slots", slots}}});
  Json& rules = machine["rules"];
  rules["load"] = {{"unit", "TMA"},
                   {"cycles", terms(random, "bytes")},
                   {"latency", terms(random, "bytes")},
                   {"width", 1},
                   {"result", "none"},
                   {"variable_latency", true},
                   {"traffic", {{"bus", Json::array({{{"measure", "bytes"}}})}}}};
  rules["alloc"] = {{"width", 1}, {"result", "smem"}};
  rules["mma"] = {{"unit", "TC"},
                  {"cycles", terms(random, "elements")},
                  {"width", 4},
                  {"result", "registers"},
                  {"asynchronous", true}};
  if (random.percent(50)) rules["mma"]["latency"] = terms(random, "elements");
  for (const char* kind : {"mul", "exp"})
    rules[kind] = {{"unit", kind == std::string("mul") ? "ALU" : "SFU"},
                   {"cycles", terms(random, "elements")},
                   {"width", 4},
                   {"result", "registers"}};
  rules["max"] = {{"unit", "ALU"},
                  {"cycles", terms(random, "elements")},
                  {"width", 4},
                  {"result", "registers"},
                  {"reduces", true}};
  return machine;
}

/// ld -> buf -> s -> p1 -> p2 -> o, with a row maximum of the iteration before; p1 and p2 chunked
/// or not.
Json random_kernel(Random& random, bool chunked) {
  Json ops = Json::array();
  const auto op = [&](const char* id, const char* kind) {
    ops.push_back({{"id", id}, {"kind", kind}, {"shape", {16, 64}}, {"type", "f32"}});
  };
  op("ld", "load");
  op("buf", "alloc");
  op("s", "mma");
  op("p1", random.percent(50) ? "mul" : "exp");
  op("p2", random.percent(50) ? "mul" : "exp");
  op("o", "mma");
  Json edges = Json::array();
  const auto edge = [&](const char* from, const char* to, int distance = 0, bool blocking = false) {
    Json e = {{"from", from}, {"to", to}};
    if (distance > 0) e["distance"] = distance;
    if (blocking) e["blocking"] = true;
    edges.push_back(e);
  };
  edge("ld", "buf");
  edge("buf", "s", 0, random.percent(50));
  edge("s", "p1", 0, random.percent(50));
  edge("p1", "p2");
  edge("p2", "o");
  if (random.percent(50)) edge("buf", "o");
  if (random.percent(50)) {
    op("m", "max");
    edge("s", "m");
    edge("m", "m", 1);
    edge("m", "p1", random.percent(50) ? 1 : 0);
  }
  edges.push_back({{"from", "o"}, {"to", "o"}, {"distance", 1}, {"accumulate", true}});
  Json kernel = {
      {"format", "twill.kernel"}, {"version", 3}, {"name", "k"}, {"ops", ops}, {"edges", edges}};
  if (chunked)
    kernel["chunks"] = Json::array({{{"id", "p"}, {"ops", {"p1", "p2"}}, {"columns", 16}}});
  return kernel;
}

Options small() {
  Options options;
  options.threads = 1;
  return options;
}

std::string number(const Fraction& f) {
  return f.denominator == 1
             ? std::to_string(f.numerator)
             : "[" + std::to_string(f.numerator) + ", " + std::to_string(f.denominator) + "]";
}

/// Every range as a plain number, through what replaces values of a machine file.
Overrides plain(const std::vector<CostRange>& ranges, const auto& value) {
  Overrides set;
  for (std::size_t k = 0; k < ranges.size(); ++k)
    set.emplace_back(ranges[k].place, number(value(k)));
  return set;
}

std::optional<Cycle> smallest(const std::string& kernel, const std::string& machine,
                              const Overrides& set) {
  LowerOptions options;
  options.set = set;
  const LayoutsSolution all = solve_layouts(lower(kernel, "k", machine, "m", options), small());
  CHECK((all.status == Status::optimal || all.status == Status::infeasible));
  if (!all.solution().schedule) return std::nullopt;
  return all.solution().schedule->initiation_interval;
}

}  // namespace

TEST_CASE(
    "ranges: the schedule of the worst ends holds everywhere, the report is what solving says") {
  int loops = 0, chunked_loops = 0, points = 0, gains = 0, unused = 0;
  for (std::uint64_t seed = 1; seed <= 1'500 / kShare; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const bool chunked = seed % 2 == 0;
    const std::string machine = random_machine(random).dump();
    const std::string kernel = random_kernel(random, chunked).dump();
    const std::vector<CostRange> ranges = machine_ranges(machine, "m");
    const LowerAt lower_at = [&](const RangeEnds& ends) {
      LowerOptions options;
      options.ends = ends;
      return lower(kernel, "k", machine, "m", options);
    };
    std::vector<Lowered> problems;
    try {
      problems = lower_at({});
    } catch (const InputError&) {
      continue;  // no layout can hold it
    }
    const LayoutsSolution worst = solve_layouts(problems, small());
    if (!worst.solution().schedule) continue;
    ++loops;
    chunked_loops += chunked;
    const Schedule& schedule = *worst.solution().schedule;
    const auto worst_of = [&](std::size_t k) {
      return ranges[k].rate ? ranges[k].low : ranges[k].high;
    };
    const auto best_of = [&](std::size_t k) {
      return ranges[k].rate ? ranges[k].high : ranges[k].low;
    };
    for (int n = 0; n < 10; ++n) {
      LowerOptions options;
      options.set = plain(ranges, [&](std::size_t k) {
        if (random.percent(40)) return random.percent(50) ? worst_of(k) : best_of(k);
        return Fraction{random.range(ranges[k].low.numerator, ranges[k].high.numerator), 1};
      });
      const Problem point = lower(kernel, "k", machine, "m", options).front().problem;
      Schedule here = schedule;
      here.length = schedule_length(point, here.start);
      const auto violation = verify(point, here);
      CHECK_MESSAGE(!violation, violation->text);
      ++points;
    }
    if (seed % 5 != 0 && seed % 5 != 1) continue;  // what follows solves once a range
    const RangeReport report = weigh_ranges(ranges, worst, lower_at, small(), {});
    CHECK(report.not_proved == "");
    CHECK(report.holds());
    CHECK(report.complete);
    CHECK(report.checks.size() == ranges.size() + 2);
    CHECK(smallest(kernel, machine, plain(ranges, worst_of)) == schedule.initiation_interval);
    CHECK(report.nominal->interval == smallest(kernel, machine, plain(ranges, [&](std::size_t k) {
                                                 return ranges[k].nominal;
                                               })));
    CHECK(report.best->interval == smallest(kernel, machine, plain(ranges, best_of)));
    REQUIRE(report.weights.size() == ranges.size());
    std::pair<Cycle, std::size_t> before{0, 0};
    for (const RangeWeight& weight : report.weights) {
      const auto alone = smallest(kernel, machine, plain(ranges, [&](std::size_t k) {
                                    return k == weight.range ? best_of(k) : worst_of(k);
                                  }));
      CHECK(weight.at_best.status == Status::optimal);
      CHECK(weight.at_best.interval == alone);
      CHECK(alone <= schedule.initiation_interval);
      if (!weight.used) CHECK(alone == schedule.initiation_interval);
      unused += !weight.used;
      gains += alone < schedule.initiation_interval;
      const std::pair now{weight.at_best.interval.value_or(0), weight.range};
      CHECK(before < now);
      before = now;
    }
  }
  MESSAGE("loops: ", loops, " (chunked: ", chunked_loops, "), judged places: ", points,
          ", ranges that gain alone: ", gains, ", ranges without use: ", unused);
  CHECK(loops > 700 / kShare);
  CHECK(chunked_loops > 300 / kShare);
  CHECK(gains > 100 / kShare);
  CHECK(unused > 50 / kShare);
}

TEST_CASE("ranges: what the lemma does not cover is said") {
  // A lowering whose best ends move a reservation behind its op's issue: no relaxation, and the
  // judge finds the collision.
  Problem problem;
  problem.name = "moving";
  problem.units = {{"U", 1}};
  problem.warps = {{"a", 1, 10, false}, {"b", 1, 10, false}};
  problem.ops.resize(2);
  problem.ops[0].id = "x";
  problem.ops[0].cycles = 4;
  problem.ops[0].reservations = {{0, 2, 2, 1}};
  problem.ops[1].id = "y";
  problem.ops[1].cycles = 2;
  problem.ops[1].reservations = {{0, 0, 2, 1}};
  problem.edges = {{0, 1, 0, 0, false, 0}};
  const auto at = [&](bool best) {
    Lowered lowered;
    lowered.layout = "l";
    lowered.problem = problem;
    if (best) {
      lowered.problem.ops[0].cycles = 3;
      lowered.problem.ops[0].reservations = {{0, 1, 2, 1}};
    }
    return std::vector<Lowered>{lowered};
  };
  const LayoutsSolution worst = solve_layouts(at(false), small());
  REQUIRE(worst.solution().schedule);
  const RangeReport report =
      weigh_ranges({{"c", {1, 1}, {1, 1}, {2, 1}, false}}, worst,
                   [&](const RangeEnds& ends) {
                     return at(ends.all == RangeEnd::best || ends.of_one == RangeEnd::best);
                   },
                   small(), {});
  CHECK(contains(report.not_proved, "reserves a unit at other cycles"));
  CHECK_FALSE(report.holds());
  CHECK(contains(report.checks[1].broken, "capacity"));
  CHECK(report.best->interval == 4);

  // Costs with which there is no loop are said, and no schedule is judged on them.
  const RangeReport without = weigh_ranges({{"c", {1, 1}, {1, 1}, {2, 1}, false}}, worst,
                                           [&](const RangeEnds& ends) -> std::vector<Lowered> {
                                             if (ends.all == RangeEnd::best)
                                               throw InputError("m", "/c", "1", "no machine");
                                             return at(false);
                                           },
                                           small(), {});
  CHECK(contains(without.not_proved, "no machine"));
  CHECK(without.checks[1].refused);
  CHECK(contains(without.best->refused, "no machine"));
  CHECK(without.holds());
  CHECK_FALSE(without.weights[0].used);
}

TEST_CASE("ranges: a limit and the stop token leave the judge's word and say what is not known") {
  Random random(2);
  Json machine = random_machine(random);
  const std::string kernel = random_kernel(random, true).dump(), text = machine.dump();
  const LowerAt lower_at = [&](const RangeEnds& ends) {
    LowerOptions options;
    options.ends = ends;
    return lower(kernel, "k", text, "m", options);
  };
  const LayoutsSolution worst = solve_layouts(lower_at({}), small());
  REQUIRE(worst.solution().schedule);
  std::stop_source stopped;
  stopped.request_stop();
  for (const bool by_token : {true, false}) {
    const RangeReport report =
        weigh_ranges(machine_ranges(text, "m"), worst, lower_at, small(),
                     by_token ? stopped.get_token() : std::stop_token(), by_token);
    CHECK_FALSE(report.complete);
    CHECK(report.holds());
    CHECK(report.not_proved.empty());
    CHECK_FALSE(report.nominal->interval);
    CHECK(report.nominal->status == Status::unknown);
  }
}

}  // namespace ranges_test
