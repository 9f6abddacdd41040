// Rule 12, inner loops with a given schedule: their parts keep their offsets.
//
// M(v) = M(u) + c is two dependences: M(v) >= M(u) + c, and, for any k with k I >= c,
// M(u) + k I >= M(v) + (k I - c). No variables but those of precede(); its clauses, twice a part.
// (Relative timing constraints as backward edges: Ku and De Micheli, "Relative scheduling under
// timing constraints", 1992.) That a part has its slot for itself is in each form's
// concurrency.cpp.
#include "graph/inner_loops.hpp"

#include "encoders/placement.hpp"
#include "graph/divide.hpp"

namespace twill {

void encode_inner_loops(PlacementModel& m, Cycle ii) {
  for (const FixedDistance& d : fixed_distances(m.problem)) {
    const auto group =
        m.groups.open(fixed_distance_text(m.problem, d), {ConstraintPart::inner_loop, d.loop});
    const Cycle turns = ceil_divide(d.cycles, ii);
    m.precede(d.earlier, d.later, 0, d.cycles, kTrueLit);
    m.precede(d.later, d.earlier, turns, turns * ii - d.cycles, kTrueLit);
  }
}

}  // namespace twill
