// A dependence in the time-indexed form: M(v) + distance I >= M(u) + delay. Rules 1 and 7 and rings
// are made of it (encoders/dependence.cpp).
//
// With absolute order literals: M(u) >= t implies M(v) >= t + delay - distance I, at most I S
// clauses an edge, bounds consistent (Tamura et al., Constraints 2009).
//
// With rows and stages: write delay = q I + d, 0 <= d < I, and let k = stage(v) - stage(u) +
// distance - q. The inequality is k I >= row(u) - row(v) + d, whose right side lies in
// (-I, 2 I), so: k >= 0 always, and k >= 1 unless row(v) >= row(u) + d, and k >= 2 unless
// row(v) + I >= row(u) + d.
// Variables: near ("row(v) >= row(u) + d") and, for d >= 2, far ("row(v) + I >= row(u) + d"), each
// implying its meaning. Clauses: at most I - d + 1 for near, d - 1 for far, and S for each of the
// three stage rules. Unit propagation: bounds consistent on rows once near and far are decided, and
// on stages always.
#include <algorithm>

#include "encoders/time_indexed/modulo.hpp"

namespace twill {
namespace {

// row(v) >= row(u) + gap whenever `condition`, for -I < gap < I.
void rows_apart(ModuloModel& m, int u, int v, Cycle gap, Lit condition) {
  const Cycle ii = m.starts.ii();
  for (Cycle t = gap < 0 ? 1 - gap : 0; t < ii; ++t) {
    m.f.clause({~condition, ~m.starts.row_at_least(u, t), m.starts.row_at_least(v, t + gap)});
    if (t + gap >= ii) break;  // the later thresholds follow from this one
  }
}

void precede_by_rows(ModuloModel& m, int u, int v, Cycle distance, Cycle delay, Lit condition) {
  const Cycle ii = m.starts.ii(), q = delay / ii, d = delay % ii;
  const Lit near = m.f.fresh();
  rows_apart(m, u, v, d, near);
  Lit far = kTrueLit;
  if (d >= 2) {
    far = m.f.fresh();
    rows_apart(m, u, v, d - ii, far);
  }
  for (Cycle k = 0; k < m.starts.stages(); ++k) {
    const Lit from = m.starts.stage_at_least(u, k);
    const Cycle to = k - distance + q;
    m.f.clause({~condition, ~from, m.starts.stage_at_least(v, to)});
    m.f.clause({~condition, ~from, near, m.starts.stage_at_least(v, to + 1)});
    m.f.clause({~condition, ~from, far, m.starts.stage_at_least(v, to + 2)});
  }
}

void precede_by_starts(ModuloModel& m, int u, int v, Cycle distance, Cycle delay, Lit condition) {
  const Cycle shift = delay - distance * m.starts.ii();
  for (Cycle t = shift < 0 ? 1 - shift : 0; t < m.starts.horizon(); ++t) {
    m.f.clause({~condition, ~m.starts.start_at_least(u, t), m.starts.start_at_least(v, t + shift)});
    if (t + shift >= m.starts.horizon()) break;
  }
}

void precede_by_values(ModuloModel& m, int u, int v, Cycle distance, Cycle delay, Lit condition) {
  const Cycle shift = delay - distance * m.starts.ii();
  for (Cycle t = m.window.earliest[static_cast<std::size_t>(u)];
       t <= m.window.latest[static_cast<std::size_t>(u)]; ++t)
    for (Cycle early = m.window.earliest[static_cast<std::size_t>(v)];
         early <= m.window.latest[static_cast<std::size_t>(v)] && early < t + shift; ++early)
      m.f.clause({~condition, ~m.starts.starts_at(u, t), ~m.starts.starts_at(v, early)});
}

void precede_by_bits(ModuloModel& m, int u, int v, Cycle distance, Cycle delay, Lit condition) {
  const Cycle shift = delay - distance * m.starts.ii();
  Binary left = m.starts.start_bits(u), right = m.starts.start_bits(v);
  if (shift > 0) left = binary_plus(m.f, left, shift);
  if (shift < 0) right = binary_plus(m.f, right, -shift);
  at_most_binary(m.f, std::move(left), std::move(right), condition);
}

}  // namespace

void ModuloModel::precede(int u, int v, Cycle distance, Cycle delay, Lit condition) {
  if (condition.is_false()) return;
  if (u == v) {
    if (distance * starts.ii() < delay) f.clause({~condition});
    return;
  }
  if (starts.has_absolute())
    precede_by_starts(*this, u, v, distance, delay, condition);
  else if (starts.has_values())
    precede_by_values(*this, u, v, distance, delay, condition);
  else if (starts.has_bits())
    precede_by_bits(*this, u, v, distance, delay, condition);
  else
    precede_by_rows(*this, u, v, distance, delay, condition);
}

}  // namespace twill
