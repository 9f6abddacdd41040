// How many buffers a load needs, streaming or in flight: the ring depths that a schedule leaves to
// be tuned.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// An op that holds a load's buffer, `iterations` after the load.
struct BufferHolder {
  int op = 0;
  int iterations = 0;
};

/// Load `u` itself and the zero-cycle ops (allocations, views) that hold its buffer, in
/// breadth-first order. Of several ways to an op the one of most iterations counts, because the
/// buffer is held until the last use by any of them. An op on a carried cycle would hold the buffer
/// for ever: each is passed once, those first that are next to what is known. So the iterations do
/// not depend on the order of ops and edges in the file.
std::vector<BufferHolder> buffer_holders(const Problem& problem, int u);

/// A use of a load's buffer by `op`, `iterations` after the load, for `cycles` from the
/// op's issue on.
struct BufferUse {
  int op = 0;
  int iterations = 0;
  Cycle cycles = 0;
  int edge = 0;  ///< of the problem: from a holder of the buffer to `op`
};

/// All uses of what `u` loads, by the edges of the buffer's holders; a use lasts the
/// op's cycles or the edge's hold, whichever is longer.
std::vector<BufferUse> buffer_uses(const Problem& problem, int u);

/// Per load (Soi et al. 2025, Section 5.3), floor((end of its last use - its issue) / I) +
/// 1: the buffers in flight when the load is issued as the schedule says.
std::map<std::string, std::int64_t> ring_depths(const Problem& problem, const Schedule& schedule);

/// Of one load.
std::int64_t ring_depth(const Problem& problem, const Schedule& schedule, int u);

}  // namespace twill
