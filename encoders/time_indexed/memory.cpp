// Rule 4, memory capacity at every residue (Soi et al. 2025, Figure 5, MEMORY CAPACITY).
//
// Per memory and residue one pseudo-Boolean sum over the live copies of liveness.cpp: the full
// copies' literals are the same at every residue, the partial copy's literal is the residue's own.
// Where the memory charges rings (memory_charges.hpp), the buffers of each, the same at every
// residue, are terms too (rings.cpp), its first one taken off the capacity; with nothing else in
// the memory there is one sum.
#include "encoders/time_indexed/modulo.hpp"
#include "graph/memory_charges.hpp"

namespace twill {

void encode_memory(ModuloModel& m) {
  const Problem& p = m.problem;
  for (std::size_t memory = 0; memory < p.memories.size(); ++memory) {
    const MemoryCharges charges = memory_charges(p, static_cast<int>(memory));
    const Amount rings = charges.least_rings(), capacity = p.memories[memory].capacity - rings;
    std::vector<TermGroup> full;
    std::vector<std::pair<Amount, const std::vector<Lit>*>> partial;
    for (std::size_t u = 0; u < p.ops.size(); ++u) {
      if (!m.lifetimes[u].counted() || charges.live[u] == 0) continue;
      full.push_back({TermGroup::Kind::chain, {}});
      for (const Lit l : m.lifetimes[u].full) full.back().terms.push_back({charges.live[u], l});
      partial.emplace_back(charges.live[u], &m.lifetimes[u].partial);
    }
    if (partial.empty() && rings == 0) continue;
    const auto group = m.groups.open("capacity of " + p.memories[memory].name + " (" +
                                     std::to_string(p.memories[memory].capacity) + ")");
    if (capacity < 0) {
      m.f.clause({});
      return;
    }
    for (std::size_t u = 0; rings > 0 && u < p.ops.size(); ++u) {
      if (charges.ring[u] == 0) continue;
      full.push_back({TermGroup::Kind::chain, {}});
      for (const Lit l : encode_ring(m, static_cast<int>(u), capacity / charges.ring[u]))
        full.back().terms.push_back({charges.ring[u], l});
    }
    if (partial.empty()) at_most_sum(m.f, m.choice, full, capacity);
    for (std::size_t s = 0; !partial.empty() && s < static_cast<std::size_t>(m.starts.ii()); ++s) {
      std::vector<TermGroup> groups = full;
      for (const auto& [amount, literals] : partial)
        groups.push_back({TermGroup::Kind::exclusive, {{amount, (*literals)[s]}}});
      at_most_sum(m.f, m.choice, groups, capacity);
    }
  }
}

}  // namespace twill
