// Who waits (rule 8): an op with a blocking incoming edge, or one that takes a register result over
// from another slot (Soi et al. 2025, Section 4.3).
//
// Variables: waits[v] where it is not constant. Clauses: one per edge with spill > 0 that can leave
// a slot. One-sided: a hand-over implies the literal. Where parts have selectors no literal is
// constantly true: each blocking edge is a unit clause of its own.
#include "encoders/placement.hpp"
#include "graph/inner_loops.hpp"

namespace twill {

std::vector<Lit> encode_waits(PlacementModel& m) {
  const Problem& p = m.problem;
  std::vector<Lit> waits(p.ops.size(), kFalseLit);
  const std::vector<int> loop_of = inner_loop_of(p);
  for (std::size_t i = 0; i < p.edges.size(); ++i) {
    if (!p.edges[i].blocking || !may_wait(p, loop_of, p.edges[i])) continue;
    Lit& w = waits[static_cast<std::size_t>(p.edges[i].to)];
    if (!m.groups.by_parts()) {
      w = kTrueLit;
      continue;
    }
    if (w.is_false()) w = m.f.fresh();
    const auto part = m.groups.open({}, {ConstraintPart::wait, static_cast<int>(i)});
    m.f.unit(w);
  }
  for (std::size_t i = 0; i < p.edges.size(); ++i) {
    const Edge& e = p.edges[i];
    if (spill_of(p, e) == 0 || !may_wait(p, loop_of, e)) continue;
    Lit& w = waits[static_cast<std::size_t>(e.to)];
    if (w.is_true() || m.cross[i].is_false()) continue;
    if (m.groups.by_parts()) {
      if (w.is_false()) w = m.f.fresh();
      const auto part = m.groups.open({}, {ConstraintPart::handover, static_cast<int>(i)});
      m.f.implies(m.cross[i], w);
      continue;
    }
    if (m.cross[i].is_true())
      w = kTrueLit;
    else if (w.is_false())
      w = m.f.fresh();
    m.f.implies(m.cross[i], w);
  }
  return waits;
}

}  // namespace twill
