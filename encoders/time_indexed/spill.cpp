// Rule 7, cross-warp hand-over: if the ops of an edge are on different slots, the consumer starts
// spill(u) cycles later (Soi et al. 2025, Figure 6, CROSS-WARP SPILLS, which forbids each of the
// cycles d .. d + spill - 1 apart; together with DEPENDENCE that is one later start).
//
// Where hand-over is ruled out altogether (ModuloRequest::handover, the paper's ablation in Section
// 6.2.2), such an edge may not leave its slot: one unit clause.
//
// No variables of its own but those of precede(), guarded by cross[e] (warp_assignment.cpp); sizes
// as in dependence.cpp, for the edges with spill > 0 that can leave a slot.
#include "encoders/time_indexed/modulo.hpp"

namespace twill {

void encode_spill(ModuloModel& m) {
  for (std::size_t i = 0; i < m.problem.edges.size(); ++i) {
    const Edge& e = m.problem.edges[i];
    const Op& from = m.problem.ops[static_cast<std::size_t>(e.from)];
    if (from.spill == 0 || m.cross[i].is_false()) continue;
    if (!m.request.handover) {
      const auto forbidden = m.groups.open("no hand-over of " + from.id + " to another slot");
      m.f.unit(~m.cross[i]);
      continue;
    }
    const auto group = m.groups.open(
        "hand-over of " + from.id + " to " + m.problem.ops[static_cast<std::size_t>(e.to)].id +
        " on another slot (" + std::to_string(from.spill) + " cycles)");
    precede(m, e.from, e.to, e.distance, e.delay + from.spill, m.cross[i]);
  }
}

}  // namespace twill
