// Identical slots are interchangeable: value precedence (Law and Lee, "Global Constraints for
// Integer and Set Value Precedence", CP 2004). Among slots of equal width and registers that are
// not the variable-latency slot, op v may use the (i+1)-th only if an earlier op uses the i-th.
//
// Variables: used[v] = "one of the ops 0 .. v is on slot i", one-sided (used implies it), n per
// slot but the last of a class. Clauses: 2 n per pair of neighbours in a class. Keeps at least one
// schedule of every orbit, so neither I nor L changes.
#include <algorithm>
#include <vector>

#include "encoders/placement.hpp"

namespace twill {

void encode_symmetry(PlacementModel& m) {
  // A pinned slot is not interchangeable with the others.
  if (!m.choice.symmetry) return;
  const Problem& p = m.problem;
  if (std::any_of(p.pins.begin(), p.pins.end(), [](const Pin& pin) { return pin.slot >= 0; }))
    return;
  const int slots = static_cast<int>(p.warps.size());
  const auto alike = [&](int a, int b) {
    const WarpSlot& x = p.warps[static_cast<std::size_t>(a)];
    const WarpSlot& y = p.warps[static_cast<std::size_t>(b)];
    return x.width == y.width && x.registers == y.registers && !x.variable_latency &&
           !y.variable_latency;
  };
  for (int second = 1; second < slots; ++second) {
    int first = second - 1;
    while (first >= 0 && !alike(first, second)) --first;
    if (first < 0) continue;
    Lit used = kFalseLit;
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
      m.f.clause({~m.on(v, second), used});
      if (m.on(v, first).is_false()) continue;
      const Lit now = m.f.fresh();
      m.f.clause({~now, used, m.on(v, first)});
      used = now;
    }
  }
}

}  // namespace twill
