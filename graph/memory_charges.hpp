// Rule 4: what the ops of a loop take of a memory, while their results are live or all the time.
#pragma once

#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// Per op of the problem, what it takes of one memory. Of a footprint it is one or the other.
struct MemoryCharges {
  std::vector<Amount> live;  ///< a live copy of its result
  /// Of a load, streaming or in flight, where the memory charges rings (Memory::rings): each buffer
  /// of its ring, of which there are ring_depth() all the time, live or not, as a kernel allocates
  /// them. It is what the load has in the memory and what the zero-cycle ops (allocations, views)
  /// have there that hold the buffer of this load and of no other; an op that holds those of
  /// several is charged while it is live.
  std::vector<Amount> ring;

  /// Of all rings, each with the one buffer that it has in any schedule.
  Amount least_rings() const;
};

MemoryCharges memory_charges(const Problem& problem, int memory);

/// The loads whose rings some memory charges, ascending. A ring has at least as many
/// buffers as copies of what is in it are ever live at once, so that charging it allows no schedule
/// that charging while live does not.
std::vector<int> charged_loads(const Problem& problem);

/// Charges the rings to every memory in which a load has one.
void charge_rings(Problem& problem);

}  // namespace twill
