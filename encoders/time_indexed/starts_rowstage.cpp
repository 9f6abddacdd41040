// Row and stage, both order encoded: Eichenberger and Davidson, "Efficient Formulation for Optimal
// Modulo Schedulers", PLDI 1997 (rows and stages); order literals: Crawford and Baker, AAAI 1994.
//
// Variables per op: row >= s for s = 1 .. I - 1 and stage >= k for k = 1 .. S - 1, less those that
// the window [earliest, latest] makes constant. Clauses: I - 2 + S - 2 chain clauses, two where
// the window cuts inside the first and the last stage. No clause links row and stage but those.
// Unit propagation: bounds consistent on row and on stage separately, not on M(v) = I stage + row.
#include "encoders/time_indexed/starts.hpp"

namespace twill {

Starts starts_rowstage(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows) {
  Starts starts(ii, stages);
  for (std::size_t i = 0; i < windows.earliest.size(); ++i) {
    const int v = static_cast<int>(i);
    const Cycle first = windows.earliest[i] / ii, last = windows.latest[i] / ii;
    starts.stage_literals().push_back(order_literals(f, stages, first, last));
    const Cycle low = windows.earliest[i] % ii, high = windows.latest[i] % ii;
    if (first == last) {
      starts.rows().push_back(order_literals(f, ii, low, high));
      continue;
    }
    starts.rows().push_back(order_literals(f, ii, 0, ii - 1));
    f.clause({starts.stage_at_least(v, first + 1), starts.row_at_least(v, low)});
    f.clause({~starts.stage_at_least(v, last), ~starts.row_at_least(v, high + 1)});
  }
  return starts;
}

}  // namespace twill
