#include "graph/memory_charges.hpp"

#include <algorithm>
#include <numeric>

#include "graph/index.hpp"
#include "graph/ring_depth.hpp"

namespace twill {
namespace {

// Per op the one load whose buffer it holds; -1 = none, -2 = several.
std::vector<int> buffer_owners(const Problem& problem) {
  std::vector<int> owner(problem.ops.size(), -1);
  for (int u = 0; u < static_cast<int>(problem.ops.size()); ++u) {
    if (!problem.ops[at(u)].fills_ring()) continue;
    for (const BufferHolder& holder : buffer_holders(problem, u))
      owner[at(holder.op)] = owner[at(holder.op)] == -1 ? u : -2;
  }
  return owner;
}

}  // namespace

Amount MemoryCharges::least_rings() const {
  return std::accumulate(ring.begin(), ring.end(), Amount{0});
}

MemoryCharges memory_charges(const Problem& problem, int memory) {
  const std::size_t ops = problem.ops.size();
  MemoryCharges charges{std::vector<Amount>(ops, 0), std::vector<Amount>(ops, 0)};
  std::vector<int> owner(ops, -1);
  if (problem.memories[at(memory)].rings) owner = buffer_owners(problem);
  for (std::size_t v = 0; v < ops; ++v)
    for (const Footprint& f : problem.ops[v].footprints)
      if (f.memory == memory)
        (owner[v] >= 0 ? charges.ring[at(owner[v])] : charges.live[v]) += f.amount;
  return charges;
}

std::vector<int> charged_loads(const Problem& problem) {
  std::vector<int> loads;
  for (int memory = 0; memory < static_cast<int>(problem.memories.size()); ++memory) {
    if (!problem.memories[at(memory)].rings) continue;
    const MemoryCharges charges = memory_charges(problem, memory);
    for (std::size_t u = 0; u < problem.ops.size(); ++u)
      if (charges.ring[u] > 0) loads.push_back(static_cast<int>(u));
  }
  std::sort(loads.begin(), loads.end());
  loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
  return loads;
}

void charge_rings(Problem& problem) {
  const std::vector<int> owner = buffer_owners(problem);
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    for (const Footprint& f : problem.ops[v].footprints)
      if (owner[v] >= 0 && f.amount > 0) problem.memories[at(f.memory)].rings = true;
}

}  // namespace twill
