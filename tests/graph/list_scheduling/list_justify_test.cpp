// One iteration scheduled alone: what it finds the judge accepts, it is no better than the best
// there is, and where a unit is never idle it is at both bounds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "graph/bounds/bounds.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/list_scheduling/list_schedule.hpp"
#include "graph/loop.hpp"
#include "graph/verify.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/wild_loop.hpp"

namespace list_justify_test {

using namespace twill;
using namespace twill::test;

namespace {

bool some_interval(const Problem& problem) {
  return positive_cycle(problem, kMaxInterval).empty();
}

Problem hidden(int ops, int filled, std::uint64_t seed) {
  HiddenKnobs knobs;
  knobs.ops = ops;
  knobs.filled = filled;
  knobs.seed = seed;
  return hidden_loop(knobs).problem;
}

}  // namespace

TEST_CASE("small loops: never better than the best of all, often as good") {
  int found = 0, best = 0, compared = 0, shortest = 0;
  for (std::uint64_t seed = 0; seed < 1500 / test::kShare; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.max_ops = 4;
    const Problem problem = seed % 3 == 0 ? ring_loop(seed, knobs) : random_loop(seed, knobs);
    if (!some_interval(problem)) continue;
    const Cycle low = lower_bounds(problem).front().value;
    const auto listed = list_justified(problem, low);
    if (!listed) continue;
    const auto violation = verify(problem, *listed);
    CHECK_MESSAGE(!violation, violation->text);
    CHECK(listed->initiation_interval >= low);
    ++found;
    const auto optimum = brute_force(problem, 14, 3);
    if (!optimum || stage_count(*listed) > 3) continue;
    ++compared;
    best += listed->initiation_interval == optimum->initiation_interval;
    CHECK(listed->initiation_interval >= optimum->initiation_interval);
    if (listed->initiation_interval > optimum->initiation_interval) continue;
    shortest += listed->length == optimum->length;
    CHECK(listed->length >= optimum->length);
  }
  MESSAGE(found << " found, " << compared << " compared, " << best << " of least I, " << shortest
                << " of these of least L");
  CHECK(found > 700 / test::kShare);
  CHECK(best > compared * 7 / 10);
  CHECK(shortest > best * 7 / 10);
}

TEST_CASE("wild loops: accepted, or none") {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 2000 / test::kShare; ++seed) {
    CAPTURE(seed);
    const WildCase wild = wild_case(seed);
    if (!some_interval(wild.problem)) continue;
    const Cycle low = lower_bounds(wild.problem).front().value;
    ListScheduleOptions options;
    options.effort = 50;
    const auto listed = list_justified(wild.problem, low, options);
    if (!listed) continue;
    ++found;
    const auto violation = verify(wild.problem, *listed);
    CHECK_MESSAGE(!violation, violation->text);
    CHECK(listed->initiation_interval >= low);
  }
  CHECK(found > 200 / test::kShare);
}

// The list scheduler has I at the bound of the first, too, and L more than a half above it.
TEST_CASE("hidden loops of 200 ops: at both bounds, or near; the same each time") {
  if (test::kSanitized) return;  // half of the file's time, and the code of the loops above
  ListScheduleOptions options;
  options.effort = 1'000;
  int at_both = 0;
  for (const int filled : {20, 60, 95, 100}) {
    const Problem problem = hidden(200, filled, 3);
    const Cycle low = lower_bounds(problem).front().value;
    const auto listed = list_justified(problem, low, options);
    REQUIRE(listed);
    CHECK_FALSE(verify(problem, *listed));
    CHECK(listed->initiation_interval == low);
    const Cycle shortest = length_bounds(problem, low).front().value;
    CHECK((listed->length - shortest) * 100 <= shortest);
    at_both += listed->length == shortest;
  }
  CHECK(at_both >= 3);
  const Problem problem = hidden(200, 20, 1);
  const Cycle low = lower_bounds(problem).front().value;
  const auto listed = list_justified(problem, low, options);
  REQUIRE(listed);
  CHECK_FALSE(verify(problem, *listed));
  CHECK((listed->initiation_interval - low) * 33 <= low);
  const Cycle shortest = length_bounds(problem, low).front().value;
  CHECK((listed->length - shortest) * 16 <= shortest);
  CHECK(list_justified(problem, low, options) == listed);
}

TEST_CASE("the list scheduler goes on from it, never to a longer interval") {
  const Problem problem = hidden(200, 20, 1);
  const Cycle low = lower_bounds(problem).front().value;
  ListScheduleOptions options;
  options.effort = 20;
  options.from = list_justified(problem, low, options);
  REQUIRE(options.from);
  options.effort = 100;
  const auto listed = list_schedule(problem, low, options);
  REQUIRE(listed);
  CHECK_FALSE(verify(problem, *listed));
  CHECK(listed->initiation_interval < options.from->initiation_interval);
  options.effort = 0;
  CHECK(list_schedule(problem, low, options) == options.from);
}

TEST_CASE("no interval above the most that is asked for; asked to stop, it stops") {
  Problem problem = hidden(60, 20, 1);
  const Cycle low = lower_bounds(problem).front().value;
  problem.interval.most = low - 1;
  CHECK_FALSE(list_justified(problem, low));
  problem.interval.most = low;
  if (const auto listed = list_justified(problem, low)) {
    CHECK_FALSE(verify(problem, *listed));
    CHECK(listed->initiation_interval == low);
  }
  problem.interval.most = kMaxInterval;
  int asked = 0;
  ListScheduleOptions options;
  options.stop = [&] { return ++asked > 2; };
  (void)list_justified(problem, low, options);
  CHECK(asked < 20);  // thousands if it went on
}

}  // namespace list_justify_test
