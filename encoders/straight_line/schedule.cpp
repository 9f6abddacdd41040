// Figure 4 of Soi et al. 2025, "Constraints enforcing a valid modulo schedule".
//
// Literal form. Variables: op[v,i,t], V N T. UNIQUENESS: one clause and one at-most-one over T
// literals per op and copy. CONSISTENCY: V (N-1) T binary clauses. COMPLETION: a unit clause per
// op, copy and cycle t with t + cycles(v) > T. DEPENDENCE: the printed conflict pairs, about T^2 /
// 2 binary clauses per edge and copy, for i + distance < N only. CAPACITY: a sum per unit and
// cycle. Everything as printed.
//
// Corrected form. Variables: op[v,0,t] and the order literals M(v) <= t, 2 (L + 1) per op.
//   UNIQUENESS  by channelling op[v,0,t] <-> (M(v) <= t and not M(v) <= t - 1): at most 4 clauses a
//               literal, arc consistent.
//   CONSISTENCY by substitution: op[v,i,t] is op[v,0,t - i I].
//   COMPLETION  by the range of t, which includes L for an op of zero cycles.
//   DEPENDENCE  M(u) >= t implies M(v) >= t + d - distance I: L binary clauses an edge instead of
//               pairs. After the substitution all copies say the same, and copy 0 has a partner, as
//               the distance is < K: no edge is left out.
//   CAPACITY    in the cycles of one period only; the sums of the others have fewer terms. What one
//               op can occupy is exclusive, for encodings that can use it: in the literal form per
//               copy.
#include <algorithm>

#include "encoders/straight_line/straight_line.hpp"

namespace twill {
namespace {

void issue_as_printed(StraightLineModel& m) {
  const auto [copies, horizon] = m.shape;
  for (int v = 0; v < m.ops(); ++v)
    for (Cycle i = 0; i < copies; ++i) {
      std::vector<Lit> row(static_cast<std::size_t>(horizon));
      for (Lit& l : row) l = m.f.fresh();
      m.f.clause(row);
      at_most_one(m.f, m.choice, row);
      for (Cycle t = std::max<Cycle>(0, horizon - m.at(v).cycles + 1); t < horizon; ++t)
        m.f.unit(~row[static_cast<std::size_t>(t)]);
      m.issue.push_back(std::move(row));
    }
  for (int v = 0; v < m.ops(); ++v)
    for (Cycle i = 1; i < copies; ++i)
      for (Cycle t = 0; t < horizon; ++t)
        m.f.implies(m.op(v, 0, t), m.op(v, i, t + i * m.request.ii));
}

void issue_corrected(StraightLineModel& m) {
  for (int v = 0; v < m.ops(); ++v) {
    const Cycle latest = m.latest(v);
    std::vector<Lit> row, order;
    for (Cycle t = 0; t <= latest; ++t) {
      row.push_back(m.f.fresh());
      if (t < latest) order.push_back(m.f.fresh());
    }
    m.issue.push_back(std::move(row));
    m.order.push_back(std::move(order));
    if (latest < 0) m.f.clause({});
    for (Cycle t = 0; t <= latest; ++t) {
      const Lit here = m.op(v, 0, t), by_now = m.issued(v, t), before = m.issued(v, t - 1);
      m.f.implies(before, by_now);
      m.f.implies(here, by_now);
      m.f.implies(here, ~before);
      m.f.implies(by_now, ~before, here);
    }
  }
}

}  // namespace

void encode_q_issue(StraightLineModel& m) {
  if (m.request.literal)
    issue_as_printed(m);
  else
    issue_corrected(m);
}

void StraightLineModel::precede(int u, int v, Cycle distance, Cycle delay, Lit condition) {
  const Cycle step = delay - distance * request.ii;
  if (u == v && step <= 0) return;
  for (Cycle t = std::max<Cycle>(0, 1 - step); t <= latest(u); ++t)
    f.clause({~condition, issued(u, t - 1), ~issued(v, t + step - 1)});
}

void encode_q_dependence(StraightLineModel& m) {
  const auto [copies, horizon] = m.shape;
  for (int index = 0; index < static_cast<int>(m.problem.edges.size()); ++index) {
    const Edge& e = m.problem.edges[static_cast<std::size_t>(index)];
    if (!m.request.literal) {
      encode_dependence_of(m, index);
      continue;
    }
    for (Cycle i = 0; i + e.distance < copies; ++i)
      for (Cycle t = 0; t < horizon; ++t)
        for (Cycle early = 0; early < std::min(t + e.delay, horizon); ++early)
          m.f.implies(m.op(e.from, i, t), ~m.op(e.to, i + e.distance, early));
  }
}

void encode_q_capacity(StraightLineModel& m) {
  const auto [copies, horizon] = m.shape;
  for (int unit = 0; unit < static_cast<int>(m.problem.units.size()); ++unit)
    for (Cycle t = m.first_sum(); t <= m.last_sum(); ++t) {
      std::vector<TermGroup> groups;
      for (int v = 0; v < m.ops(); ++v)
        for (Cycle i = 0; i < copies; ++i) {
          if (i == 0 || m.request.literal) groups.emplace_back();
          for (const Reservation& r : m.at(v).reservations)
            for (Cycle c = r.offset; c < r.offset + r.length && r.unit == unit; ++c)
              if (const Lit l = m.op(v, i, t - c); !l.is_false())
                groups.back().terms.push_back({r.amount, l});
        }
      at_most_sum(m.f, m.choice, groups, m.problem.units[static_cast<std::size_t>(unit)].capacity);
    }
}

}  // namespace twill
