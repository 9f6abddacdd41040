// Intervals that pins to cycles leave no schedule, for the second computation of bounds
// (counting.hpp).
#pragma once

#include "engine/certificate/forced.hpp"
#include "graph/problem.hpp"

namespace twill {

/// Is every I from 1 to `last` refuted by what lies at fixed distances: by a cycle of delays,
/// lifetimes and pins that gains time, or by two segments that ask for more than their unit has and
/// meet? (The argument of graph/bounds/next_interval.cpp and graph/bounds/start_arcs.cpp; other
/// code.)
bool pins_exclude(const Problem& problem, const Forced& forced, Cycle last);

/// Do the same constraints between starts leave no schedule at `ii` that is as short as `length`?
bool starts_exclude(const Problem& problem, const Forced& forced, Cycle ii, Cycle length);

}  // namespace twill
