// solve() against exhaustive search on random loops with every feature on: the modulo form, every
// encoding, stage limits, single initiation intervals, loops without any schedule.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "encoders/choose.hpp"
#include "engine/order/searcher.hpp"
#include "tests/support/agreement.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/same_answer.hpp"
#include "tests/support/scaled.hpp"

namespace model_test {

using namespace twill;
using namespace twill::test;

namespace {

LoopKnobs small() {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  knobs.max_spill = 2;
  return knobs;
}

Options with(const std::string& encoding, const std::string& stages = "complete",
             const std::string& engine = "auto") {
  Options options;
  options.engine = engine;
  options.threads = 1;
  options.time_limit = 30;  // a search that never ends is a disagreement
  options.encoding = encoding;
  options.stages = stages;
  return options;
}

/// Tries seeds [first, first + count); returns how many had a schedule.
int agree_with(std::uint64_t first, int count, const LoopKnobs& knobs, const Options& options) {
  int feasible = 0;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
    const Problem problem = random_loop(seed, knobs);
    const Cycle limit = options.stages == "complete" ? 0 : std::stoll(options.stages);
    const auto expected =
        options.ii ? exhaustive_at(problem, *options.ii, limit) : exhaustive(problem, limit);
    feasible += expected.has_value();
    if (disagreement(problem, options, expected).empty()) continue;
    FAIL("seed ", seed, ", engine ", options.engine, ", encoding \"", options.encoding,
         "\", stages ", options.stages, ": ", shrunk_disagreement(problem, options));
  }
  return feasible;
}

/// The same with all engines, where the options leave the choice.
int agree(std::uint64_t first, int count, const LoopKnobs& knobs, Options options) {
  if (options.engine != "auto" || !options.encoding.empty())
    return agree_with(first, count, knobs, options);
  options.engine = "time_indexed";
  const int feasible = agree_with(first, count, knobs, options);
  for (const char* engine : {"order", "order-cadical"}) {
    options.engine = engine;
    if (options.engine == "order-cadical" && !has_cadical_searcher()) continue;
    CHECK(agree_with(first, count, knobs, options) == feasible);
  }
  return feasible;
}

}  // namespace

TEST_CASE("smallest I and L, default options") {
  const int feasible = agree(0, 1500, small(), with(""));
  CHECK(feasible > 1000);
  CHECK(feasible < 1450);
}

TEST_CASE("smallest I and L, monotone loops with longer cycles") {
  LoopKnobs knobs = small();
  knobs.multi_segment = false;
  knobs.max_cycles = 5;
  knobs.max_ops = 3;
  CHECK(agree(10'000, 700, knobs, with("")) > 400);
}

TEST_CASE("smallest I and L, long distances and holds") {
  LoopKnobs knobs = small();
  knobs.max_ops = 3;
  knobs.max_distance = 4;
  knobs.max_hold = 7;
  CHECK(agree(20'000, 700, knobs, with("")) > 400);
}

TEST_CASE("smallest I and L, many registers on small slots: several live copies") {
  LoopKnobs knobs = small();
  knobs.max_ops = 3;
  knobs.max_registers = 2;
  knobs.max_distance = 5;
  knobs.max_slots = 2;
  knobs.max_memories = 1;
  CHECK(agree(30'000, 700, knobs, with("")) > 400);
}

TEST_CASE("smallest I and L, cycles so long that coarse copies of the loop are searched first") {
  LoopKnobs knobs = small();
  knobs.max_ops = 3;
  knobs.max_cycles = 30;
  knobs.max_spill = 12;
  knobs.max_hold = 9;
  knobs.multi_segment = false;
  knobs.max_units = 1;
  knobs.max_capacity = 1;
  knobs.max_slots = 2;
  CHECK(agree(600'000, 30, knobs, with("")) > 20);
}

TEST_CASE("smallest I and L, small values of which many copies live: lifetimes in growing detail") {
  LoopKnobs knobs = small();
  knobs.max_ops = 2;
  knobs.max_registers = 20;
  knobs.max_distance = 25;
  knobs.max_hold = 30;
  knobs.max_cycles = 2;
  knobs.max_slots = 2;
  CHECK(agree(700'000, 250, knobs, with("")) > 100);
}

TEST_CASE("smallest I and L, nothing but zero-cycle ops: L may be 0") {
  LoopKnobs knobs = small();
  knobs.max_cycles = 0;
  CHECK(agree(800'000, 400, knobs, with("")) > 250);
}

TEST_CASE("smallest I and L, the order engine at cycles of many thousands") {
  // Cycles times a thousand: enumeration is out of reach. But a thousand times the I of the small
  // loop can be had, and where a schedule can be divided by a thousand, nothing is at a thousand
  // times one cycle less.
  int divided = 0;
  for (std::uint64_t seed = 900'000; seed < 900'150; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs = small();
    knobs.multi_segment = false;
    if (seed % 2 == 0) {
      knobs.max_spill = 0;
      knobs.blocking = knobs.charged_rings = false;
    }
    const Problem problem = random_loop(seed, knobs);
    Problem large = problem;
    scale(large, 1000);
    const Options options = with("", "complete", "order");
    const Solution few = solve(problem, options), many = solve(large, options);
    CHECK(few.status == many.status);
    if (!few.schedule || !many.schedule) continue;
    const Cycle ii = few.schedule->initiation_interval;
    CHECK(many.schedule->initiation_interval <= 1000 * ii);
    // (It can be much less: an instant of waiting costs 1 there and here.)
    if (!may_be_divided(problem)) continue;
    divided += ii > 1;
    CHECK(many.schedule->initiation_interval > 1000 * (ii - 1));
  }
  CHECK(divided > 20);
}

TEST_CASE("loops beside a copy of themselves: the same I and L however symmetry is treated") {
  int solved = 0;
  for (std::uint64_t seed = 950'000; seed < 950'250; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs = small();
    knobs.max_ops = 4;
    const Problem problem = beside_itself(random_loop(seed, knobs));
    const Solution broken = solve(problem, with("", "complete", "order"));
    const Solution kept = solve(problem, with("symmetry=off", "complete", "order"));
    const Solution cycles = solve(problem, with("", "complete", "time_indexed"));
    solved += same_answers(broken, {&kept, &cycles}) ? 1 : 0;
  }
  CHECK(solved > 100);
}

TEST_CASE("every encoding finds the same I and L") {
  std::uint64_t first = 40'000;
  for (const EncodingInfo& row : encoding_table()) {
    if (row.key == "form") continue;
    Options options = with(row.key + "=" + row.value);
    options.engine = "time_indexed";
    CHECK(agree(first, 120, small(), options) > 70);
    first += 60;  // half of the loops are new for each
  }
}

TEST_CASE("encodings combined at random") {
  // Loops with registers and several instances of units, so that every key has something to do.
  LoopKnobs knobs = small();
  knobs.max_registers = 3;
  Random random(50);
  std::map<std::string, std::vector<std::string>> values;
  for (const EncodingInfo& row : encoding_table())
    if (row.key != "form") values[row.key].push_back(row.value);
  std::uint64_t first = 50'000;
  for (int round = 0; round < 60; ++round, first += 10) {
    std::string text;
    for (const auto& [key, all] : values)
      text +=
          (text.empty() ? "" : ",") + key + "=" +
          all[static_cast<std::size_t>(random.range(0, static_cast<std::int64_t>(all.size()) - 1))];
    Options options = with(text);
    options.engine = "time_indexed";
    CHECK(agree(first, 20, knobs, options) > 5);
  }
}

TEST_CASE("stage limits") {
  for (const char* stages : {"1", "2", "3"}) {
    CHECK(agree(60'000, 300, small(), with("", stages)) > 50);
    CHECK(agree(60'200, 200, small(), with("start=order", stages)) > 50);
  }
}

TEST_CASE("one initiation interval") {
  int feasible = 0, infeasible = 0;
  for (Cycle ii = 1; ii <= 7; ++ii) {
    for (const char* stages : {"complete", "1", "2"}) {
      Options options = with("", stages);
      options.ii = ii;
      const int found = agree(70'000, 120, small(), options);
      feasible += found;
      infeasible += 120 - found;
    }
  }
  CHECK(feasible > 700);
  CHECK(infeasible > 700);
}

TEST_CASE("the old name of the engine time_indexed is still read") {
  const std::filesystem::path data = TWILL_TEST_DATA;
  const Problem problem = read_problem((data / "examples" / "figure-1.problem.json").string());
  for (const char* engine : {"cnf", "time_indexed"}) {
    Options options;
    options.engine = engine;
    const Solution solution = solve(problem, options);
    CHECK(solution.engine == "time_indexed");
    CHECK(solution.schedule->initiation_interval == 2);
  }
}

TEST_CASE("a solution says why its search ended") {
  const std::filesystem::path data = TWILL_TEST_DATA;
  const auto example = [&](const std::string& name) {
    return read_problem((data / "examples" / (name + ".problem.json")).string());
  };
  // One op meets its bounds; that figure 1 has no schedule as short as its path is refuted.
  Problem one;
  one.name = "one";
  one.units = {{"u", 1}};
  one.warps = {{"w", 1, 0, false}};
  Op op;
  op.id = "a";
  op.cycles = 3;
  op.reservations = {{0, 0, 3, 1}};
  one.ops = {op};
  CHECK(solve(one).stop == Stop::bound);
  CHECK(solve(example("figure-1")).stop == Stop::refuted);
  CHECK(solve(example("undercount-figure-1")).stop == Stop::refuted);
  CHECK(solve(example("undercount")).stop == Stop::refuted);
  Options options;
  options.ii = 1;
  CHECK(solve(example("figure-1"), options).stop == Stop::bound);
  std::stop_source stop;
  stop.request_stop();
  const Solution stopped = solve(example("undercount-figure-1"), {}, stop.get_token());
  CHECK(stopped.stop == Stop::interrupt);
  CHECK(stopped.stopped_by == "stopped");
  for (const Stop each : {Stop::unsaid, Stop::bound, Stop::refuted, Stop::time_limit,
                          Stop::conflict_limit, Stop::memory_limit, Stop::interrupt}) {
    CHECK(parse_stop(to_string(each)) == each);
    Solution solution;
    set_stop(solution, each);
    CHECK(solution.stopped_by == (cut_short(each) ? to_string(each) : ""));
  }
}

}  // namespace model_test
