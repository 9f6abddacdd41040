// Length: L = max over v of M(v) + cycles(v), as order literals that are implied, so that a bound
// is one assumption and one formula serves every L.
//
// Variables: longer[i] = "L > length_low + i", i = 0 .. high - low - 1, chained. Clauses per op:
// one per L with rows (stage >= k and row >= r gives longer) and one per stage boundary; one per L
// with absolute literals. Ops that a successor outlasts on every schedule (distance 0, delay at
// least their own cycles) are left out. L <= length_high holds unconditionally.
#include <algorithm>

#include "encoders/time_indexed/modulo.hpp"

namespace twill {

std::vector<Lit> encode_length(ModuloModel& m) {
  const Problem& p = m.problem;
  const Cycle low = m.request.length_low, high = m.request.length_high, ii = m.starts.ii();
  std::vector<Lit> longer;
  for (Cycle l = low; l < high; ++l) {
    longer.push_back(m.f.fresh());
    if (longer.size() > 1) m.f.implies(longer.back(), longer[longer.size() - 2]);
  }
  // "L > l" for any l.
  const auto exceeds = [&](Cycle l) {
    if (l < low) return kTrueLit;
    if (l >= high) return kFalseLit;
    return longer[static_cast<std::size_t>(l - low)];
  };
  std::vector<bool> outlasted(p.ops.size(), false);
  for (const Edge& e : p.edges)
    if (e.distance == 0 && e.delay >= p.ops[static_cast<std::size_t>(e.from)].cycles)
      outlasted[static_cast<std::size_t>(e.from)] = true;
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
    if (outlasted[static_cast<std::size_t>(v)]) continue;
    const Cycle cycles = p.ops[static_cast<std::size_t>(v)].cycles;
    for (Cycle l = low; l <= high; ++l) {
      const Cycle t = std::max<Cycle>(0, l - cycles + 1);  // M(v) >= t: v alone makes L > l
      const Cycle k = t / ii, r = t % ii;
      if (m.starts.has_absolute() && t < m.starts.horizon()) {
        m.f.implies(m.starts.start_at_least(v, t), exceeds(l));
        continue;
      }
      m.f.clause({~m.starts.stage_at_least(v, k), ~m.starts.row_at_least(v, r), exceeds(l)});
      if (l == high || r == ii - 1) m.f.implies(m.starts.stage_at_least(v, k + 1), exceeds(l));
    }
  }
  return longer;
}

}  // namespace twill
