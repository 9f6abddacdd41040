// A lower bound on L by deadlines that leave some op no place (Klein and Scholl, EJOR 112, 1999:
// destructive improvement).
#pragma once

#include <optional>
#include <vector>

#include "graph/bounds/bounds.hpp"

namespace twill {

/// The least L at `ii` that is not refuted so, where it is above `above`: no schedule has L <=
/// value - 1. nullopt where `above` itself is not refuted, or no schedule exists at `ii`.
/// Preconditions: problem is consistent (graph/accepted.hpp), ii >= 1.
std::optional<Bound> destructive_bound(const Problem& problem, Cycle ii, Cycle above);

/// Starts of ops, in cycles.
struct StartRanges {
  std::vector<Cycle> earliest, latest;
};
/// Where the ops of a schedule that ends by `deadline` can start, as far as the same rules say.
/// nullopt = there is no such schedule. The same preconditions.
std::optional<StartRanges> start_ranges(const Problem& problem, Cycle ii, Cycle deadline);

}  // namespace twill
