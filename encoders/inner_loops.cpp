// Rule 12, inner loops with a given schedule: their parts keep their offsets.
//
// M(v) = M(u) + c is two dependences: M(v) >= M(u) + c, and, for any k with k I >= c,
// M(u) + k I >= M(v) + (k I - c). No variables but those of precede(); its clauses, twice a part.
// (Relative timing constraints as backward edges: Ku and De Micheli, "Relative scheduling under
// timing constraints", 1992.)
//
// A part has its slot for itself: where it executes no op with cycles is issued, and where another
// op executes the part is not. What that takes in clauses is each form's.
#include "graph/inner_loops.hpp"

#include "encoders/placement.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"

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

namespace {

void part_alone(PlacementModel& m, Cycle ii, int part, int w, const NotIssuedIn& not_issued_in) {
  const Problem& p = m.problem;
  if (p.ops[at(part)].cycles > ii) return m.f.clause({~m.on(part, w)});
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
    if (v == part || p.ops[at(v)].cycles == 0 || m.on(v, w).is_false()) continue;
    not_issued_in(v, part, m.on(part, w), m.on(v, w));
    not_issued_in(part, v, m.on(part, w), m.on(v, w));
  }
}

}  // namespace

void encode_inner_loops_alone(PlacementModel& m, Cycle ii, const NotIssuedIn& not_issued_in) {
  const Problem& p = m.problem;
  for (std::size_t k = 0; k < p.inner_loops.size(); ++k) {
    const auto group = m.groups.open("slots of inner loop " + p.inner_loops[k].name,
                                     {ConstraintPart::inner_loop, static_cast<int>(k)});
    for (const InnerPart& part : p.inner_loops[k].parts)
      for (int w = 0; w < static_cast<int>(p.warps.size()); ++w)
        if (p.ops[at(part.op)].cycles > 0 && !m.on(part.op, w).is_false() &&
            !p.warps[at(w)].variable_latency)
          part_alone(m, ii, part.op, w, not_issued_in);
  }
}

}  // namespace twill
