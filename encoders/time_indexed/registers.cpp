// Rule 6, registers of every slot at every residue (Soi et al. 2025, Figure 6, REGISTER LIMIT).
//
// Per slot and residue one pseudo-Boolean sum over the live copies of the values that may be issued
// there. A copy counts for slot w through the product of its liveness literal and slot[u][w]: one
// variable and one clause, none where u has only one slot. Slots that cannot overflow are skipped.
// A value's full copies are a chain, for encodings that can use it.
#include "encoders/time_indexed/modulo.hpp"

namespace twill {

void encode_registers(ModuloModel& m) {
  const Problem& p = m.problem;
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w) {
    const WarpSlot& slot = p.warps[static_cast<std::size_t>(w)];
    Amount worst = 0;
    std::vector<int> values;
    for (int u = 0; u < static_cast<int>(p.ops.size()); ++u) {
      const Lifetime& life = m.lifetimes[static_cast<std::size_t>(u)];
      const Amount registers = p.ops[static_cast<std::size_t>(u)].registers;
      if (!life.counted() || registers == 0 || m.on(u, w).is_false()) continue;
      values.push_back(u);
      worst += registers * static_cast<Amount>(life.full.size() + 1);
    }
    if (worst <= slot.registers) continue;
    const auto group =
        m.groups.open("registers of " + slot.name + " (" + std::to_string(slot.registers) + ")");
    std::vector<TermGroup> full;
    for (const int u : values) {
      full.push_back({TermGroup::Kind::chain, {}});
      for (const Lit l : m.lifetimes[static_cast<std::size_t>(u)].full)
        full.back().terms.push_back(
            {p.ops[static_cast<std::size_t>(u)].registers, m.f.implied_by_both(l, m.on(u, w))});
    }
    for (std::size_t s = 0; s < static_cast<std::size_t>(m.starts.ii()); ++s) {
      std::vector<TermGroup> groups = full;
      for (const int u : values) {
        const Lit here =
            m.f.implied_by_both(m.lifetimes[static_cast<std::size_t>(u)].partial[s], m.on(u, w));
        groups.push_back(
            {TermGroup::Kind::exclusive, {{p.ops[static_cast<std::size_t>(u)].registers, here}}});
      }
      at_most_sum(m.f, m.choice, groups, slot.registers);
    }
  }
}

}  // namespace twill
