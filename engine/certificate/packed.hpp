// The argument of graph/bounds/packing.cpp a second time, by other code (counting.hpp).
#pragma once

#include "engine/certificate/forced.hpp"
#include "graph/problem.hpp"

namespace twill {

/// Do results, each live for as long as paths of dependences ask for at `ii`, overfill slots or a
/// memory? Then they do so at every smaller interval, too. Precondition: no cycle of dependences
/// gains time at `ii`.
bool packing_exceeded(const Problem& problem, const Forced& forced, Cycle ii);

}  // namespace twill
