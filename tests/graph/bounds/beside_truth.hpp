// A bound on L beside every schedule of a loop.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>

#include "engine/certificate/counting.hpp"
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

}  // namespace twill::test
