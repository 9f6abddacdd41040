// Rule 5, variable latency: an op is on the marked slot if and only if its latency is variable (Soi
// et al. 2025, Figure 6, VARIABLE LATENCY). With no marked slot the rule is void.
//
// No variables. When constraints are selectable: one unit clause per op and slot that the rule
// excludes. Otherwise the slot literals of warp_assignment.cpp are constants already and there is
// nothing to emit.
#include "encoders/placement.hpp"

namespace twill {

void encode_variable_latency(PlacementModel& m) {
  if (!m.groups.selectable() || variable_latency_slot(m.problem) < 0) return;
  for (int v = 0; v < static_cast<int>(m.problem.ops.size()); ++v) {
    const Op& op = m.problem.ops[static_cast<std::size_t>(v)];
    const auto group = m.groups.open(std::string(op.variable_latency ? "variable" : "fixed") +
                                     " latency of " + op.id);
    for (int w = 0; w < static_cast<int>(m.problem.warps.size()); ++w)
      if (m.problem.warps[static_cast<std::size_t>(w)].variable_latency != op.variable_latency)
        m.f.unit(~m.on(v, w));
  }
}

}  // namespace twill
