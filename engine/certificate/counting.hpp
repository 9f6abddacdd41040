// Arithmetic bounds, computed a second time: where a bound is met it is the only proof that nothing
// is smaller, so a certificate's check does not leave it to one piece of code. Nothing here is
// shared with graph/bounds/bounds.cpp, graph/bounds/slot_bounds.cpp and
// graph/bounds/length_bound.cpp but the problem's own terms (problem.hpp, memory_charges.hpp), and
// the questions are put the other way round: is this I, or this L, too small?
#pragma once

#include "encoders/goals.hpp"
#include "graph/problem.hpp"

namespace twill {

/// Do units, recurrences, lifetimes, waits or pins to cycles show that no schedule has an interval
/// of at most `ii`
/// >= 1? Precondition: check() has accepted the problem. The gaps of one slot are searched for a
/// bounded number of steps; false where that was not enough.
bool interval_counted_out(const Problem& problem, Cycle ii);

/// Do dependences, units, waits, lifetimes or pins to cycles show that no schedule with the
/// interval `ii` >= 1 is as short as `length`?
bool length_counted_out(const Problem& problem, Cycle ii, Cycle length);

/// No schedule has less of the goal.
std::int64_t counted_goal(const Problem& problem, const GoalMeasure& goal);

}  // namespace twill
