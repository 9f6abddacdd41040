// A bound on L beside every schedule of a loop.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>

#include <vector>

#include "engine/certificate/counting.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/problem.hpp"
#include "tests/support/every_schedule.hpp"

namespace twill::test {

struct BesideTruth {
  int compared = 0;  ///< loops
  int raised = 0;    ///< of these, where the bound is more than all others
  int met = 0;       ///< of these, where it is the truth
  Cycle least = 0;   ///< L of the last one, after true

  /// Checks that no schedule is shorter than the bound, and that certificates count as far and no
  /// further. false = the loop has no schedule, or more than `most` would have to be tried.
  bool compare(const Problem& problem, Cycle ii, Cycle bound, bool is_raised, std::int64_t most) {
    const Truth truth = every_schedule(problem, {.ii = ii}, most);
    if (!truth.finished || !truth.best) return false;
    least = truth.best->length;
    REQUIRE(bound <= least);
    CHECK(length_counted_out(problem, ii, bound - 1));
    CHECK_FALSE(length_counted_out(problem, ii, least));
    ++compared;
    raised += is_raised ? 1 : 0;
    met += is_raised && bound == least ? 1 : 0;
    return true;
  }
};

/// Bounds on L at the I of a schedule that a short search finds: it is no shorter, and certificates
/// count as far. Empty = none is found.
inline std::vector<Bound> bounds_beside_found(const Problem& problem) {
  Options some;
  some.threads = 1;
  some.conflict_limit = 500;
  const Solution found = solve(problem, some);
  if (!found.schedule) return {};
  const Cycle ii = found.schedule->initiation_interval;
  std::vector<Bound> bounds = length_bounds(problem, ii);
  REQUIRE(bounds.front().value <= found.schedule->length);
  CHECK(length_counted_out(problem, ii, bounds.front().value - 1));
  CHECK_FALSE(length_counted_out(problem, ii, found.schedule->length));
  return bounds;
}

}  // namespace twill::test
