// Figure 5 of Soi et al. 2025, "Memory Allocation Constraints": liveness as backward dataflow over
// the straight-line program, and what live results hold in each memory.
//
// Literal form. Variables: live[v,i,t], t in [0, T], V N (T + 1). LIVEPROP-1, LIVEPROP-2 and
// DEADPROP-2: one clause each per op, copy and cycle t >= 1 (at t = 0 they would mention t = -1);
// DEADPROP-1 one per edge besides. INIT is read with the sentence that explains it, "only the
// loop-carried results of the last copy of each instruction are live at the last clock cycle": the
// other copies are dead at T. MEMORY CAPACITY: a sum per memory and cycle t < T.
//
// Corrected form. Only values that weigh something, in the cycles [(K-1) I, T]: V K (L + 1)
// variables at most, constant false where the latest possible last use is over. For edge e = (v, u)
// of copy i let "e ends at t" be op[u, i + distance, t - hold]; u's copy may be >= K, its start is
// known.
//   INIT       live[v,i,T] if and only if some use of copy i ends beyond T, for every copy: M(u) +
//              (i + distance) I + hold > T is an order literal of u. Printed: the last copy only,
//              whenever it has a loop-carried use.
//   LIVEPROP-1 op[v,i,t] implies not live[v,i,t-1], also when the value dies in the same cycle.
//   LIVEPROP-2 as printed.
//   DEADPROP-1 "ends at t" and not op[v,i,t] imply live[v,i,t-1] (the printed premise, not
//              live[v,i,t], follows from LIVEPROP-2). The middle premise is new: without it a value
//              of zero lifetime would be live back to cycle 0.
//   DEADPROP-2 as printed, with "ends at t" for the use.
// MEMORY CAPACITY in the cycles of the last full period, which shows the steady state; where the
// memory charges rings, their buffers (straight_line/rings.cpp) are terms, the first of each taken
// off the capacity.
#include <algorithm>

#include "encoders/straight_line/straight_line.hpp"
#include "graph/memory_charges.hpp"

namespace twill {
namespace {

std::vector<std::vector<const Edge*>> uses(const Problem& problem) {
  std::vector<std::vector<const Edge*>> out(problem.ops.size());
  for (const Edge& e : problem.edges) out[static_cast<std::size_t>(e.from)].push_back(&e);
  return out;
}

void liveness_as_printed(StraightLineModel& m) {
  const auto [copies, horizon] = m.shape;
  const auto users = uses(m.problem);
  for (int v = 0; v < m.ops(); ++v) {
    const auto& edges = users[static_cast<std::size_t>(v)];
    const bool carried =
        std::any_of(edges.begin(), edges.end(), [](const Edge* e) { return e->distance > 0; });
    for (Cycle i = 0; i < copies; ++i) {
      std::vector<Lit> row(static_cast<std::size_t>(horizon + 1));
      for (Lit& l : row) l = m.f.fresh();
      m.live.push_back(std::move(row));
      const Lit last = m.alive(v, i, horizon);
      m.f.unit(carried && i == copies - 1 ? last : ~last);  // INIT
      for (Cycle t = 1; t <= horizon; ++t) {
        const Lit now = m.alive(v, i, t), before = m.alive(v, i, t - 1), issue = m.op(v, i, t);
        m.f.implies(now, issue, ~before);  // LIVEPROP-1
        m.f.implies(now, ~issue, before);  // LIVEPROP-2
        std::vector<Lit> stays_dead = {now, ~before};
        for (const Edge* e : edges) {
          if (i + e->distance >= copies) continue;
          const Lit use = m.op(e->to, i + e->distance, t);
          m.f.clause({now, ~use, before});  // DEADPROP-1
          stays_dead.push_back(use);
        }
        m.f.clause(stays_dead);  // DEADPROP-2
      }
    }
  }
}

void liveness_corrected(StraightLineModel& m) {
  const auto [copies, horizon] = m.shape;
  const Cycle ii = m.request.ii;
  const auto users = uses(m.problem);
  m.live_from = m.first_sum();
  m.live.resize(static_cast<std::size_t>(m.ops() * copies));
  for (int v = 0; v < m.ops(); ++v) {
    const auto& edges = users[static_cast<std::size_t>(v)];
    if (edges.empty() || (m.at(v).registers == 0 && m.at(v).footprints.empty())) continue;
    Cycle longest = 0;  // copy 0 is dead from this cycle on
    for (const Edge* e : edges)
      longest = std::max(longest, m.latest(e->to) + e->distance * ii + e->hold);
    for (Cycle i = 0; i < copies; ++i) {
      if (longest + i * ii <= m.live_from) continue;
      auto& row = m.live[m.copy(v, i)];
      for (Cycle t = m.live_from; t <= horizon; ++t)
        row.push_back(t < longest + i * ii ? m.f.fresh() : kFalseLit);

      const Lit last = m.alive(v, i, horizon);
      std::vector<Lit> some_use = {~last};  // INIT
      for (const Edge* e : edges) {
        const Lit beyond = ~m.issued(e->to, horizon - e->hold - (i + e->distance) * ii);
        m.f.implies(beyond, last);
        some_use.push_back(beyond);
      }
      m.f.clause(some_use);
      for (Cycle t = m.live_from + 1; t <= horizon; ++t) {
        const Lit now = m.alive(v, i, t), before = m.alive(v, i, t - 1), issue = m.op(v, i, t);
        m.f.implies(issue, ~before);       // LIVEPROP-1
        m.f.implies(now, ~issue, before);  // LIVEPROP-2
        std::vector<Lit> stays_dead = {now, ~before};
        for (const Edge* e : edges) {
          const Lit end = m.op(e->to, i + e->distance, t - e->hold);
          m.f.clause({~end, issue, before});  // DEADPROP-1
          stays_dead.push_back(end);
        }
        m.f.clause(stays_dead);  // DEADPROP-2
      }
    }
  }
}

}  // namespace

void encode_q_liveness(StraightLineModel& m) {
  if (m.request.literal)
    liveness_as_printed(m);
  else
    liveness_corrected(m);
}

void encode_q_memory(StraightLineModel& m) {
  for (int memory = 0; memory < static_cast<int>(m.problem.memories.size()); ++memory) {
    const MemoryCharges charges = memory_charges(m.problem, memory);
    const Amount rings = charges.least_rings();
    const Amount capacity = m.problem.memories[static_cast<std::size_t>(memory)].capacity - rings;
    if (capacity < 0) {
      m.f.clause({});
      return;
    }
    std::vector<Term> buffers;
    for (int v = 0; rings > 0 && v < m.ops(); ++v)
      if (const Amount each = charges.ring[static_cast<std::size_t>(v)]; each > 0)
        for (const Lit l : q_ring(m, v, capacity / each)) buffers.push_back({each, l});
    for (Cycle t = m.first_sum(); t <= m.last_sum(); ++t) {
      std::vector<Term> terms = buffers;
      for (int v = 0; v < m.ops(); ++v) {
        const Amount each = charges.live[static_cast<std::size_t>(v)];
        for (Cycle i = 0; each > 0 && i < m.shape.copies; ++i)
          if (!m.live[m.copy(v, i)].empty()) terms.push_back({each, m.alive(v, i, t)});
      }
      at_most_sum(m.f, m.choice, terms, capacity);
      if (terms.size() == buffers.size()) break;  // the same in every cycle
    }
  }
}

}  // namespace twill
