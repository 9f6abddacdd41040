// How many buffers a streaming load needs: the ring depths that a schedule leaves to be tuned.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Per streaming op (Soi et al. 2025, Section 5.3), floor((end of its last use - its issue) / I) +
/// 1: the buffers in flight when the load is issued as the schedule says. A use's end is its start
/// plus its cycles or the edge's hold, whichever is later; uses are followed through zero-cycle ops
/// (allocations and views hold the same buffer).
std::map<std::string, std::int64_t> ring_depths(const Problem& problem, const Schedule& schedule);

}  // namespace twill
