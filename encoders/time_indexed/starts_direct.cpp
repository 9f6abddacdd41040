// Direct encoding, one literal a start cycle: Walsh, "SAT v CSP", CP 2000; the op[v,i,t] of Soi et
// al. 2025.
//
// Variables per op, with D cycles in its window: M = t, D of them (none for D = 1), and the order
// literals of row and stage that the other families read, I - 1 and S - 1, less those the window
// makes constant. Clauses: at least one, at most one (D literals, the encoding of the key amo), the
// chains of row and stage, and at most four per cycle, M = t -> its row and its stage from both
// sides. Unit propagation: a row or stage that is ruled out rules out its start cycles and vice
// versa only once the start is known; start cycles are exactly-one. Differences: pairs of cycles
// that conflict, see dependence.cpp.
#include "encoders/time_indexed/starts.hpp"

namespace twill {

Starts starts_direct(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows,
                     const EncodingChoice& choice) {
  Starts starts(ii, stages);
  for (std::size_t i = 0; i < windows.earliest.size(); ++i) {
    const Cycle earliest = windows.earliest[i], latest = windows.latest[i];
    std::vector<Lit> values(static_cast<std::size_t>(ii * stages), kFalseLit);
    for (Cycle t = earliest; t <= latest; ++t)
      values[static_cast<std::size_t>(t)] = earliest == latest ? kTrueLit : f.fresh();
    f.clause(values);
    at_most_one(f, choice, values);
    starts.values().push_back(std::move(values));
    rows_from_values(f, starts, static_cast<int>(i), earliest, latest);
  }
  return starts;
}

}  // namespace twill
