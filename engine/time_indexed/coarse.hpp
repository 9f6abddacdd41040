// The same loop with coarser cycles: a smaller problem whose orders are a good start.
#pragma once

#include "graph/problem.hpp"

namespace twill {

/// Divides every number of cycles by `grain`, rounded to nearest, positive ones at least 1.
/// Reservations must be single segments from the issue (monotone_in_ii).
Problem coarsened(const Problem& problem, Cycle grain);

}  // namespace twill
