// Smaller intervals near a short schedule: valid, no smaller than asked for, little longer, and the
// same every time.
#include <doctest/doctest.h>

#include <cstdint>

#include "engine/order/order.hpp"
#include "graph/divide.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/index.hpp"
#include "graph/verify.hpp"
#include "tests/support/search_bench.hpp"

namespace fall_near_test {

using namespace twill;
using namespace twill::test;

namespace {

HiddenLoop loop_of(int ops, std::uint64_t seed) {
  HiddenKnobs knobs;
  knobs.seed = seed;
  knobs.ops = ops;
  knobs.longest = 30;
  return hidden_loop(knobs);
}

/// The same with idle cycles at the end of each period.
Schedule slower(const Problem& problem, const Schedule& schedule, Cycle by) {
  const Cycle ii = schedule.initiation_interval;
  Schedule slow = schedule;
  slow.initiation_interval += by;
  for (Cycle& t : slow.start) t += floor_divide(t, ii) * by;
  slow.length = schedule_length(problem, slow.start);
  REQUIRE_FALSE(verify(problem, slow));
  return slow;
}

}  // namespace

TEST_CASE("near a short schedule I falls to what is asked for, and L hardly rises") {
  int fell = 0, met = 0, below = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    CAPTURE(seed);
    const HiddenLoop loop = loop_of(20, seed);
    const Problem& problem = loop.problem;
    const Cycle known = loop.schedule.initiation_interval;
    const Schedule slow = slower(problem, loop.schedule, known / 20 + 1);
    // The hidden schedule is within what is looked at.
    REQUIRE(loop.schedule.length <= slow.length);
    for (const Cycle low : {known, known + 1, known - known / 16}) {
      CAPTURE(low);
      Schedule found[2];
      for (Schedule& one : found) {
        SearchBench bench(problem, seed);
        one = slow;
        order::fall_near(bench.search, one, low);
        CHECK_FALSE(verify(problem, one));
        CHECK(one.initiation_interval >= low);
        CHECK(one.initiation_interval <= slow.initiation_interval);
        CHECK(one.length <= slow.length + slow.length / 64);
      }
      CHECK(found[0].start == found[1].start);
      CHECK(found[0].warp == found[1].warp);
      fell += found[0].initiation_interval < slow.initiation_interval;
      met += low >= known && found[0].initiation_interval == low;
      below += found[0].initiation_interval < known;
    }
  }
  MESSAGE("fell ", fell, ", to what was asked for ", met, ", below the hidden one ", below);
  CHECK(fell > 40);
  CHECK(met > 28);
  CHECK(below > 0);
}

TEST_CASE("what is at its bound, or far from it, or too large, stays as it is, without a formula") {
  const HiddenLoop loop = loop_of(24, 1);
  const Cycle ii = loop.schedule.initiation_interval;
  SearchBench bench(loop.problem);
  for (const Cycle low : {ii, ii - ii / 5}) {
    Schedule one = loop.schedule;
    order::fall_near(bench.search, one, low);
    CHECK(one.start == loop.schedule.start);
  }
  // Of many periods, or with a delay of many.
  Schedule longer = loop.schedule;
  longer.length = 9 * ii;
  order::fall_near(bench.search, longer, ii - 1);
  CHECK(longer.start == loop.schedule.start);
  Problem slow = loop.problem;
  slow.edges[0].delay = 9 * ii;
  slow.edges[0].distance = 20;
  SearchBench late(slow);
  Schedule same = loop.schedule;
  order::fall_near(late.search, same, ii - 1);
  CHECK(same.start == loop.schedule.start);
  const HiddenLoop large = loop_of(static_cast<int>(order::kMostNear) + 1, 1);
  SearchBench other(large.problem);
  Schedule one = large.schedule;
  order::fall_near(other.search, one, large.schedule.initiation_interval - 1);
  CHECK(one.start == large.schedule.start);
  CHECK(bench.budget.conflicts() + late.budget.conflicts() + other.budget.conflicts() == 0);
}

TEST_CASE("a budget that is spent leaves the best so far") {
  const HiddenLoop loop = loop_of(40, 2);
  SearchBench bench(loop.problem);
  Budget budget({}, 0, 1, 0);
  const Search search = bench.search.with(loop.problem, budget, bench.report);
  Schedule one = loop.schedule;
  const Cycle ii = one.initiation_interval;
  order::fall_near(search, one, ii - ii / 20);
  CHECK_FALSE(verify(loop.problem, one));
  CHECK(one.initiation_interval <= ii);
}

}  // namespace fall_near_test
