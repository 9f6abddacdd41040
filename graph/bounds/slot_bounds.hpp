// Lower bounds on I from the concurrency rule: ops that wait exclude the others on their slot.
#pragma once

#include <vector>

#include "graph/bounds/bounds.hpp"

namespace twill {

/// Is op `v` a waiter in every schedule (rule 8)? It has a blocking incoming edge, or one from a
/// spilling producer with which it shares no allowed slot, and is not exempt.
bool always_waits(const Problem& problem, int v);

/// At most one bound per slot, over the ops that can go nowhere else: the waiters' own cycles
/// (clique), one cycle for a waiter of zero cycles, and the gaps between waiters that the other ops
/// need. The proof is in slot_bounds.cpp.
std::vector<Bound> slot_bounds(const Problem& problem);

}  // namespace twill
