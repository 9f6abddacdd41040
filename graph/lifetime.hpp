// How long results are held: what the goal `lifetime` measures.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Sum over the ops of the cycles that one copy of their result is live in a schedule with I >= 1
/// (rule 3): from the issue to the last use, its hold included; 0 for results that nobody uses.
std::int64_t total_lifetime(const Problem& problem, const Schedule& schedule);

/// No schedule of any I has less: every result waits for the delay of each use, and is held.
std::int64_t least_total_lifetime(const Problem& problem);

}  // namespace twill
