// Two units in a row, counted a second time (counting.hpp).
#pragma once

#include <vector>

#include "engine/certificate/forced.hpp"
#include "graph/problem.hpp"
#include "graph/wide.hpp"

namespace twill {

/// Does a unit that waits for another one show that no schedule with the interval `ii` is as short
/// as `length`? `heads` and `tails` are earliest() and remaining().
bool fed_units_exceed(const Problem& problem, const Forced& forced, Cycle ii,
                      std::vector<Wide> heads, std::vector<Wide> tails, Cycle length);

}  // namespace twill
