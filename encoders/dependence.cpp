// What is a dependence, whatever the form: rule 1 (Soi et al. 2025, Figure 4, DEPENDENCE), rule 7
// (Figure 6, CROSS-WARP SPILLS) and the buffers of a ring.
//
// Rule 7, cross-warp hand-over: if the ops of an edge are on different slots, the consumer starts
// spill(e) cycles later. (The figure forbids each of the cycles d .. d + spill - 1 apart; together
// with DEPENDENCE that is one later start.) Where hand-over is ruled out altogether
// (PlacementRequest::handover, the paper's ablation in Section 6.2.2), such an edge may not leave
// its slot: one unit clause.
//
// Rings: at most k buffers are enough where every use of one, (v, cycles, iterations) of load u,
// ends before the load of k iterations later: M(u) + (k - iterations) I >= M(v) + cycles + 1.
//
// No variables but those of precede(); its clauses for each edge, for each edge with spill > 0 that
// can leave a slot (guarded by cross[e], warp_assignment.cpp), and for each use of a ring.
#include "encoders/placement.hpp"
#include "graph/index.hpp"
#include "graph/ring_depth.hpp"

namespace twill {

void encode_dependence_of(PlacementModel& m, int edge) {
  const Edge& e = m.problem.edges[at(edge)];
  const auto group = m.groups.open(
      "dependence " + m.problem.ops[at(e.from)].id + " -> " + m.problem.ops[at(e.to)].id +
          " (delay " + std::to_string(e.delay) + ", distance " + std::to_string(e.distance) + ")",
      {ConstraintPart::dependence, edge});
  m.precede(e.from, e.to, e.distance, e.delay, kTrueLit);
}

void encode_handover_of(PlacementModel& m, int edge) {
  const Edge& e = m.problem.edges[at(edge)];
  const Op& from = m.problem.ops[at(e.from)];
  const Lit cross = m.cross[at(edge)];
  const Cycle spill = spill_of(m.problem, e);
  if (spill == 0 || cross.is_false()) return;
  if (!m.placement.handover) {
    const auto group = m.groups.open("no hand-over of " + from.id + " to another slot",
                                     {ConstraintPart::no_handover, edge});
    return m.f.unit(~cross);
  }
  const auto group = m.groups.open("hand-over of " + from.id + " to " + m.problem.ops[at(e.to)].id +
                                       " on another slot (" + std::to_string(spill) + " cycles)",
                                   {ConstraintPart::handover, edge});
  m.precede(e.from, e.to, e.distance, e.delay + spill, cross);
}

void encode_ring_limits(PlacementModel& m) {
  for (const Precedence& p : m.placement.limits.precedences) {
    const auto group = m.groups.open(ring_text(m.problem, p));
    m.precede(p.from, p.to, p.distance, p.delay, kTrueLit);
  }
}

void limit_buffers(PlacementModel& m, int u, Cycle buffers, Lit more) {
  for (const BufferUse& use : buffer_uses(m.problem, u))
    m.precede(use.op, u, buffers - use.iterations, use.cycles + 1, ~more);
}

}  // namespace twill
