// How many buffers a streaming load needs: the ring depths that a schedule leaves to be tuned.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// A use of a streaming load's buffer by `op`, `iterations` after the load, for `cycles` from the
/// op's issue on.
struct BufferUse {
  int op = 0;
  int iterations = 0;
  Cycle cycles = 0;
};

/// All uses of what streaming op `u` loads. They are followed through zero-cycle ops (allocations
/// and views hold the same buffer); a use lasts the op's cycles or the edge's hold, whichever is
/// longer.
std::vector<BufferUse> buffer_uses(const Problem& problem, int u);

/// Per streaming op (Soi et al. 2025, Section 5.3), floor((end of its last use - its issue) / I) +
/// 1: the buffers in flight when the load is issued as the schedule says.
std::map<std::string, std::int64_t> ring_depths(const Problem& problem, const Schedule& schedule);

/// Of one streaming op.
std::int64_t ring_depth(const Problem& problem, const Schedule& schedule, int u);

}  // namespace twill
