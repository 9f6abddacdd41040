// Makes a failing problem small.
#pragma once

#include <functional>

#include "graph/problem.hpp"

namespace twill::test {

/// Greedy delta debugging (Zeller and Hildebrandt 2002) on the parts of a problem: drops ops (with
/// their edges), edges, reservations, footprints, units, memories and slots, clears flags and
/// lowers numbers, one change at a time, as long as the problem passes check() and `still_fails`
/// holds. The result is minimal: no single change of these keeps it failing. `problem` must fail.
/// `still_fails` must be a function of its argument; an exception from it ends the shrinking.
Problem shrink(Problem problem, const std::function<bool(const Problem&)>& still_fails);

}  // namespace twill::test
