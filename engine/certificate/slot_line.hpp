// The waits of one iteration on one slot, counted a second time (counting.hpp).
#pragma once

#include <vector>

#include "engine/certificate/forced.hpp"
#include "graph/problem.hpp"
#include "graph/wide.hpp"

namespace twill {

/// Do the waits of a slot, with what others use of a unit between them, show that no iteration is
/// as short as `length`? `heads` and `tails` are earliest() and remaining().
bool slot_line_exceeds(const Problem& problem, const Forced& forced, const std::vector<Wide>& heads,
                       const std::vector<Wide>& tails, Cycle length);

}  // namespace twill
