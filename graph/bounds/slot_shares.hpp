// What units ask for between the waits on one slot, summed up without a search.
#pragma once

#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// The least sum of the gaps between the starts of ops that wait, in cycles, by one unit at a time;
/// the largest over all units, 0 where there is no gap. All ops are on one slot and have cycles.
/// Those that wait (rule 8) begin the gaps, with `idle_waiter` so does one of no cycles; `others`
/// lie in them. The proof is in slot_shares.cpp.
Cycle shared_gaps(const Problem& problem, const std::vector<int>& waiters, bool idle_waiter,
                  const std::vector<int>& others);

}  // namespace twill
