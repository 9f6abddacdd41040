// A program in time where units slow each other down. The same program, costs and rules as
// Clock::run, but an op's pace changes while it runs, so nothing can be known ahead: this goes from
// moment to moment. Without contention both say the same (a test holds it), but for turns on a unit
// of several: there Clock::run lets an op begin before its turn, where one is free.
#pragma once

#include <vector>

#include "graph/contention.hpp"
#include "graph/program/time.hpp"

namespace twill::program {

/// Do the moments of n iterations fit their numbers? Else run_contended must not be called.
bool can_be_contended(const Problem& problem, int n);

/// As Clock::run. Moments are counted in thousandths of a cycle and rounded to cycles at the end.
/// An op that has a segment on a slowed unit is as slow as the slowest of its segments, and nothing
/// is slower than kMostSlowdown.
TimedRun run_contended(const Clock& clock, const BarrierCosts& costs, const Contention& contention,
                       const std::vector<int>& factor = {});

/// Clock::run where there is no contention, which is faster; else run_contended.
inline TimedRun run_in_time(const Clock& clock, const BarrierCosts& costs,
                            const Contention& contention, const std::vector<int>& factor = {}) {
  return contention.empty() ? clock.run(costs, factor)
                            : run_contended(clock, costs, contention, factor);
}

}  // namespace twill::program
