// Direct and order encoding, channelled: Walsh, "Permutation Problems and Channelling Constraints",
// LPAR 2001; the regular encoding of Ansotegui and Manya, SAT 2004.
//
// Variables per op, with D cycles in its window: M >= t, D - 1; M = t, D - 2 (the first and the
// last cycle are order literals themselves); and the order literals of row and stage, I - 1 and
// S - 1, less those the window makes constant. Clauses: the chain, M = t <-> M >= t and not M >= t
// + 1, three per variable M = t, which implies exactly one; the chains of row and stage and at most
// four per cycle, M = t -> its row and its stage from both sides. Unit propagation: every start
// cycle that is ruled out is known to both; bounds pass over holes. Differences: by order literals.
#include "encoders/time_indexed/starts.hpp"

namespace twill {

Starts starts_channelled(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows) {
  Starts starts(ii, stages);
  for (std::size_t i = 0; i < windows.earliest.size(); ++i) {
    const int v = static_cast<int>(i);
    const Cycle earliest = windows.earliest[i], latest = windows.latest[i];
    starts.absolute().push_back(order_literals(f, ii * stages, earliest, latest));
    std::vector<Lit> values(static_cast<std::size_t>(ii * stages), kFalseLit);
    for (Cycle t = earliest; t <= latest; ++t) {
      const Lit from = starts.start_at_least(v, t), beyond = starts.start_at_least(v, t + 1);
      Lit& here = values[static_cast<std::size_t>(t)];
      if (from.is_true() || beyond.is_false()) {
        here = from.is_true() ? ~beyond : from;
        continue;
      }
      here = f.fresh();
      f.implies(here, from);
      f.implies(here, ~beyond);
      f.implies(from, ~beyond, here);
    }
    starts.values().push_back(std::move(values));
    rows_from_values(f, starts, v, earliest, latest);
  }
  return starts;
}

}  // namespace twill
