// Arithmetic bounds, computed a second time. Where a bound is met it is the only proof that nothing
// is smaller, so a certificate's check does not leave it to one piece of code. This code and that
// of bounds.cpp, packing.cpp, slot_bounds.cpp, slot_shares.cpp, slot_line.cpp, length_bound.cpp,
// copy_order.cpp, two_units.cpp and destructive.cpp in graph/bounds/ have nothing in common but the
// problem's own terms (problem.hpp, memory_charges.hpp) and which ops can change places
// (automorphism.hpp). The question is the opposite one: is this I, or this L, too small?
#pragma once

#include "encoders/goals.hpp"
#include "engine/certificate/derivation.hpp"
#include "graph/problem.hpp"

namespace twill {

/// Do units, channels, recurrences, lifetimes, waits or pins to cycles show that no schedule has an
/// interval of at most `ii`? Precondition: check() has accepted the problem, and ii >= 1. The gaps
/// of one slot are searched for a bounded number of steps; false where that was not enough.
bool interval_counted_out(const Problem& problem, Cycle ii);

/// Do dependences, units, waits, lifetimes or pins to cycles show that no schedule with the
/// interval `ii` is as short as `length`? The same precondition.
bool length_counted_out(const Problem& problem, Cycle ii, Cycle length);

/// Do the steps, from use.low on, leave no interval whose schedules could be better than use.ii and
/// use.time say? Refutations and bounds that they name are taken for granted, as is least_at. The
/// same precondition.
bool time_counted_out(const Problem& problem, const TimeUse& use);

/// No schedule has less of the goal.
std::int64_t counted_goal(const Problem& problem, const GoalMeasure& goal);

}  // namespace twill
