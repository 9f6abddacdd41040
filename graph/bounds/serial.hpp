// Does any schedule exist at all, at any initiation interval? Order is all that matters then.
#pragma once

#include "graph/problem.hpp"

namespace twill {

/// The same loop with every positive number of cycles replaced by 1, so that only orders are left;
/// and an initiation interval at which it is decisive.
struct SerialProblem {
  Problem problem;
  Cycle ii = 1;
};

/// `problem` has a schedule at some I if and only if the serial problem has one at `ii`; and where
/// monotone_in_ii(problem), the orders of the latter give one of the former by tighten(). The proof
/// is in serial.cpp. Where an op is pinned to a cycle above 0, the serial problem is the problem
/// itself, and decides only the I above the latest such cycle.
SerialProblem serial_problem(const Problem& problem);

/// An initiation interval at which `problem` has a schedule if it has one at any (above
/// latest_pinned_cycle()); feasible at every larger one too.
Cycle serial_ii(const Problem& problem);

}  // namespace twill
