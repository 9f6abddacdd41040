// Intervals that arithmetic refutes a range at a time, where feasibility is not monotone in I.
#pragma once

#include "graph/problem.hpp"

namespace twill {

/// The smallest I from `ii` to `last` that neither of these refutes; last + 1 = none. Proved: none
/// in between has a schedule.
///   segments  two reservations of one op, or of ops that are pinned to cycles, that together ask
///             for more than their unit has and meet modulo I
///   starts    the constraints between starts, with the pinned cycles (graph/bounds/start_arcs.hpp)
/// Precondition: check() has accepted the problem.
Cycle next_interval(const Problem& problem, Cycle ii, Cycle last);

}  // namespace twill
