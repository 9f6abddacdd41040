// Figure 6 of Soi et al. 2025, "Warp Assignment Constraints".
//
//   WARP UNIQUENESS    opw[v,w]; one clause and one at-most-one per op. "Operations that span
//                      multiple warps" (Section 4.3): slots narrower than the op are constant
//                      false.
//   VARIABLE LATENCY   As constants: an op is on the marked slot if and only if its latency is
//                      variable. Void with no marked slot.
//   REGISTER LIMIT     The product live[v,i,t] opw[v,w] is a literal (none where opw is constant).
//                      A sum per slot and cycle, each slot with its own limit.
//   CROSS-WARP SPILLS  opw[u,w] and opw[v,w'] for w != w' imply cross[e], two clauses a slot. So
//                      the printed formula needs one clause per cycle instead of one per pair of
//                      slots and cycle.
//                      Literal: op[u,i,t] and cross[e] imply not op[v,i+distance,t+d+s], N T spill
//                      clauses an edge, for i + distance < N only.
//                      Corrected: with DEPENDENCE that is one later start, L clauses an edge.
//   CONCURRENCY        v waits if an incoming edge is blocking, or takes a register result over
//                      from another slot (the "similar constraint for cross-warp spills").
//                      clash[v,o] is implied when v waits and shares its slot with o != v; then v's
//                      issue is outside every copy of o.
//                      Literal: the printed pairs, at most N^2 T cycles(o) clauses per pair of ops.
//                      Corrected: copies matter by their difference only, and o's window is two
//                      order literals: about N L clauses per pair of ops.
//                      Ops on the variable-latency slot are exempt in both: they are scheduled
//                      dynamically (the figure does not say so, Section 5.3 does).
#include <algorithm>

#include "encoders/straight_line/straight_line.hpp"

namespace twill {
namespace {

// Per op: implied when the op must wait at its issue.
std::vector<Lit> waiting(StraightLineModel& m) {
  std::vector<Lit> waits(m.problem.ops.size(), kFalseLit);
  for (std::size_t i = 0; i < m.problem.edges.size(); ++i) {
    const Edge& e = m.problem.edges[i];
    Lit& w = waits[static_cast<std::size_t>(e.to)];
    if (e.blocking) w = kTrueLit;
    if (w.is_true() || spill_of(m.problem, e) == 0 || m.cross[i].is_false()) continue;
    if (w.is_false()) w = m.f.fresh();
    m.f.implies(m.cross[i], w);
  }
  return waits;
}

// No copy of v is issued while a copy of o executes, if `clash`.
void keep_apart(StraightLineModel& m, int v, int o, Lit clash) {
  const auto [copies, horizon] = m.shape;
  const Cycle ii = m.request.ii, cycles = m.at(o).cycles;
  if (m.request.literal) {
    for (Cycle i = 0; i < copies; ++i)
      for (Cycle t = 0; t < horizon; ++t)
        for (Cycle j = 0; j < copies; ++j)
          for (Cycle start = std::max<Cycle>(0, t - (cycles - 1)); start <= t; ++start)
            m.f.clause({~m.op(v, i, t), ~m.op(o, j, start), ~clash});
    return;
  }
  for (Cycle t = 0; t <= m.latest(v); ++t)
    for (Cycle k = -(t / ii); t + k * ii - cycles < m.latest(o); ++k)
      m.f.clause(
          {~m.op(v, 0, t), ~m.issued(o, t + k * ii), m.issued(o, t + k * ii - cycles), ~clash});
}

}  // namespace

void encode_q_warps(StraightLineModel& m) {
  encode_slots(m);
  const int slots = static_cast<int>(m.problem.warps.size());
  for (const Edge& e : m.problem.edges) {
    Lit cross = kFalseLit;
    for (int w = 0; w < slots && e.from != e.to && spill_of(m.problem, e) > 0; ++w) {
      const Lit a = m.on(e.from, w), b = m.on(e.to, w);
      if (a == b) continue;
      if (cross.is_false()) cross = m.f.fresh();
      m.f.clause({~a, b, cross});
      m.f.clause({a, ~b, cross});
    }
    m.cross.push_back(cross);
  }
}

void encode_q_registers(StraightLineModel& m) {
  for (int w = 0; w < static_cast<int>(m.problem.warps.size()); ++w)
    for (Cycle t = m.first_sum(); t <= m.last_sum(); ++t) {
      std::vector<Term> terms;
      for (int v = 0; v < m.ops(); ++v) {
        if (m.at(v).registers == 0 || m.on(v, w).is_false()) continue;
        for (Cycle i = 0; i < m.shape.copies; ++i)
          if (!m.live[m.copy(v, i)].empty())
            terms.push_back({m.at(v).registers, m.f.implied_by_both(m.alive(v, i, t), m.on(v, w))});
      }
      at_most_sum(m.f, m.choice, terms, m.problem.warps[static_cast<std::size_t>(w)].registers);
    }
}

void encode_q_spills(StraightLineModel& m) {
  const auto [copies, horizon] = m.shape;
  for (std::size_t index = 0; index < m.problem.edges.size(); ++index) {
    const Edge& e = m.problem.edges[index];
    const Cycle spill = spill_of(m.problem, e);
    if (m.cross[index].is_false()) continue;
    if (!m.request.literal) {
      encode_handover_of(m, static_cast<int>(index));
      continue;
    }
    for (Cycle i = 0; i + e.distance < copies; ++i)
      for (Cycle t = 0; t < horizon; ++t)
        for (Cycle s = t + e.delay; s < std::min(t + e.delay + spill, horizon); ++s)
          m.f.clause({~m.op(e.from, i, t), ~m.cross[index], ~m.op(e.to, i + e.distance, s)});
  }
}

void encode_q_concurrency(StraightLineModel& m) {
  const std::vector<Lit> waits = waiting(m);
  for (int v = 0; v < m.ops(); ++v) {
    const Lit wait = waits[static_cast<std::size_t>(v)];
    if (wait.is_false() || exempt_from_concurrency(m.problem, v)) continue;
    for (int o = 0; o < m.ops(); ++o) {
      if (o == v || m.at(o).cycles == 0) continue;
      Lit clash = kFalseLit;
      for (int w = 0; w < static_cast<int>(m.problem.warps.size()); ++w) {
        if (m.on(v, w).is_false() || m.on(o, w).is_false()) continue;
        if (clash.is_false()) clash = m.f.fresh();
        m.f.clause({~wait, ~m.on(v, w), ~m.on(o, w), clash});
      }
      if (!clash.is_false()) keep_apart(m, v, o, clash);
    }
  }
}

}  // namespace twill
