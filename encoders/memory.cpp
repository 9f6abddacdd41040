// Rule 4, memory capacity at every residue (Soi et al. 2025, Figure 5, MEMORY CAPACITY).
//
// Per memory and residue one pseudo-Boolean sum over the live copies of liveness.cpp: the full
// copies' literals are the same at every residue, the partial copy's literal is the residue's own.
#include "encoders/modulo.hpp"

namespace twill {

void encode_memory(ModuloModel& m) {
  const Problem& p = m.problem;
  for (std::size_t memory = 0; memory < p.memories.size(); ++memory) {
    std::vector<TermGroup> full;
    std::vector<std::pair<Amount, const std::vector<Lit>*>> partial;
    for (std::size_t u = 0; u < p.ops.size(); ++u) {
      if (!m.lifetimes[u].counted()) continue;
      for (const Footprint& f : p.ops[u].footprints) {
        if (f.memory != static_cast<int>(memory) || f.amount == 0) continue;
        full.push_back({TermGroup::Kind::chain, {}});
        for (const Lit l : m.lifetimes[u].full) full.back().terms.push_back({f.amount, l});
        partial.emplace_back(f.amount, &m.lifetimes[u].partial);
      }
    }
    if (partial.empty()) continue;
    const auto group = m.groups.open("capacity of " + p.memories[memory].name + " (" +
                                     std::to_string(p.memories[memory].capacity) + ")");
    for (std::size_t s = 0; s < static_cast<std::size_t>(m.starts.ii()); ++s) {
      std::vector<TermGroup> groups = full;
      for (const auto& [amount, literals] : partial)
        groups.push_back({TermGroup::Kind::exclusive, {{amount, (*literals)[s]}}});
      at_most_sum(m.f, m.choice, groups, p.memories[memory].capacity);
    }
  }
}

}  // namespace twill
