// Short schedules alone, beside the other engine: what is found is short enough, and of what is not
// found there is none.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "encoders/order/order.hpp"
#include "engine/order/order.hpp"
#include "engine/order/short_schedules.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/verify.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/search_bench.hpp"

namespace short_schedules_test {

using namespace twill;
using namespace twill::test;

namespace {

Problem loop_of(std::uint64_t seed) {
  LoopKnobs knobs;
  knobs.multi_segment = false;
  return random_loop(seed, knobs);
}

/// The shortest schedule's length at `ii` where that is at most `deadline`, else -1: by clauses for
/// every cycle.
Cycle shortest(const Problem& problem, Cycle ii, Cycle deadline) {
  SearchBench bench(problem);
  const LengthResult result =
      time_indexed_engine().shortest_within(bench.search, ii, 0, deadline, {});
  REQUIRE(result.verdict != Verdict::unknown);
  return result.best ? result.best->length : -1;
}

}  // namespace

TEST_CASE("short schedules of falling I: each is one, and just below the last there is none") {
  int fell = 0, met = 0, none = 0, left = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Problem problem = loop_of(seed);
    const Cycle low = lower_bounds(problem).front().value;
    const Cycle high = std::max(low, serial_ii(problem));
    if (!monotone_in_ii(problem) || !order_range_allowed(problem, low, high)) continue;
    Random random(seed);
    const Cycle deadline = random.range(low / 2, high + high / 2);
    SearchBench bench(problem, seed % 3);
    std::vector<Schedule> found;
    OrderRequest request = order::short_request(bench.search, low, high, deadline);
    request.at_once = seed % 2 == 0;
    const Verdict verdict = order::look_below(bench.search, request, deadline, 0, found);
    Cycle last = high + 1;
    for (const Schedule& one : found) {
      CHECK_FALSE(verify(problem, one));
      CHECK(one.length <= deadline);
      CHECK(one.initiation_interval >= low);
      CHECK(one.initiation_interval < last);
      last = one.initiation_interval;
    }
    REQUIRE(verdict != Verdict::unknown);
    CHECK((verdict == Verdict::sat) == (last == low));
    if (last > low) CHECK(shortest(problem, last - 1, deadline) < 0);
    fell += found.size() > 1;
    met += last == low;
    none += found.empty();
    left += !found.empty() && last > low;
  }
  MESSAGE("fell ", fell, ", met ", met, ", none ", none, ", left ", left);
  CHECK(fell > 10);
  CHECK(met > 10);
  CHECK(none > 10);
  CHECK(left > 5);
}

TEST_CASE("what was found is shortened to the shortest") {
  int shorter = 0, loops = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Problem problem = loop_of(seed);
    const Cycle ii = std::max(lower_bounds(problem).front().value, serial_ii(problem) / 2 + 1);
    const Cycle deadline = 3 * ii;
    SearchBench bench(problem, seed % 3);
    order::IncrementalSolver solver(bench.search,
                                    order::short_request(bench.search, ii, ii, deadline));
    solver.only_look();
    const Answer first = solver.look(ii, deadline, 0);
    if (!first.schedule) continue;
    std::vector<Schedule> found{*first.schedule};
    order::look_shorter(bench.search, solver, found);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK_FALSE(verify(problem, found[i]));
      if (i > 0) CHECK(found[i].length < found[i - 1].length);
    }
    CHECK(found.back().length == shortest(problem, ii, deadline));
    shorter += found.back().length < first.schedule->length;
    ++loops;
  }
  MESSAGE(loops, " loops, shorter in ", shorter);
  CHECK(loops > 40);
  CHECK(shorter > 5);
}

TEST_CASE("searches that are long when they begin: the I and the L of the other engine") {
  int loops = 0, above = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const Problem problem = loop_of(seed);
    if (!monotone_in_ii(problem)) continue;
    const Cycle low = lower_bounds(problem).front().value;
    SearchBench bench(problem, seed % 3), other(problem);
    for (std::int64_t i = 0; i < order::kLong; ++i) bench.budget.count_conflict();
    const Interval found = order::smallest_interval(bench.search, low);
    const Interval expected = time_indexed_engine().smallest_interval(other.search, low);
    REQUIRE(found.none == expected.none);
    if (found.none) continue;
    REQUIRE(found.best);
    REQUIRE(expected.best);
    const Cycle ii = found.best->initiation_interval;
    CHECK_FALSE(verify(problem, *found.best));
    CHECK(found.low == ii);
    REQUIRE(ii == expected.best->initiation_interval);
    const Cycle most = found.best->length;
    const LengthResult length = order::shortest_within(bench.search, ii, 0, most, {});
    REQUIRE(length.verdict == Verdict::sat);
    CHECK_FALSE(verify(problem, *length.best));
    CHECK(length.best->length == shortest(problem, ii, most));
    ++loops;
    above += ii > low;
  }
  MESSAGE(loops, " loops, above the bound ", above);
  CHECK(loops > 60);
  CHECK(above > 10);
}

}  // namespace short_schedules_test
