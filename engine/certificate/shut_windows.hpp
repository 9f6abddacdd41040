// Deadlines that leave some op no place, counted a second time (counting.hpp).
#pragma once

#include <vector>

#include "engine/certificate/forced.hpp"
#include "graph/problem.hpp"
#include "graph/wide.hpp"

namespace twill {

/// Does what excludes each other on units, in the order that it must have, show that no schedule
/// with the interval `ii` is as short as `length`? `heads` and `tails` are earliest() and
/// remaining().
bool windows_shut(const Problem& problem, const Forced& forced, Cycle ii, std::vector<Wide> heads,
                  std::vector<Wide> tails, Cycle length);

}  // namespace twill
