// The gaps between waits on one slot, for the second computation of bounds (counting.hpp).
#pragma once

#include "engine/certificate/forced.hpp"
#include "graph/problem.hpp"

namespace twill {

/// Is there a slot whose own ops cannot all be issued within `ii` cycles, whichever way they lie
/// between those that wait? Rule 8 in the argument of graph/bounds/slot_bounds.cpp; this is another
/// search, which asks whether any distribution fits and does not look for the best. It gives up,
/// false, after a bounded number of steps.
bool gaps_exceeded(const Problem& problem, const Forced& forced, Cycle ii);

}  // namespace twill
