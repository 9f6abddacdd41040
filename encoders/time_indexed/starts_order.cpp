// Absolute order literals with channelled rows: Crawford and Baker, AAAI 1994; Ansotegui and Manya,
// SAT 2004; Tamura, Taga, Kitagawa and Banbara, Constraints 14 (2009).
//
// Variables per op: M >= t for t = 1 .. I S - 1, less those the window makes constant, and
// row >= s for s = 1 .. I - 1. The stage literals are M >= k I themselves. Clauses: one chain
// clause per neighbouring pair, I - 2 row chain clauses, and two channel clauses per threshold t
// that is not a multiple of I: in its stage k, M >= k I + s gives row >= s and M < k I + s gives
// row < s. Unit propagation: bounds consistent on M(v); rows follow once the stage is known.
#include "encoders/time_indexed/starts.hpp"

namespace twill {

Starts starts_order(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows) {
  Starts starts(ii, stages);
  const Cycle horizon = ii * stages;
  for (std::size_t i = 0; i < windows.earliest.size(); ++i) {
    const int v = static_cast<int>(i);
    starts.absolute().push_back(order_literals(f, horizon, windows.earliest[i], windows.latest[i]));
    std::vector<Lit> stage_literals;
    for (Cycle k = 1; k < stages; ++k) stage_literals.push_back(starts.start_at_least(v, k * ii));
    starts.rows().push_back(order_literals(f, ii, 0, ii - 1));
    starts.stage_literals().push_back(std::move(stage_literals));
    for (Cycle k = 0; k < stages; ++k)
      for (Cycle s = 1; s < ii; ++s) {
        const Lit here = starts.start_at_least(v, k * ii + s);
        f.clause({~here, starts.stage_at_least(v, k + 1), starts.row_at_least(v, s)});
        f.clause({here, ~starts.stage_at_least(v, k), ~starts.row_at_least(v, s)});
      }
  }
  return starts;
}

}  // namespace twill
