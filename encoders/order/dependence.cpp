// Rules 1 and 7 in the order form: start(v) + distance I >= start(u) + delay (Soi et al. 2025,
// Figure 4, DEPENDENCE, and Figure 6, CROSS-WARP SPILLS).
//
// With k = stage(v) - stage(u) + distance the rule is row(v) - row(u) >= delay - k I. So for every
// j: k >= j + 1, or the difference atom with delay - j I. The atom is false for j < 0 and true from
// the j on at which delay <= (j - 1) I + 1; both fold.
//
// Variables: at most one atom per value of j that is left (one when delay <= I + 1). Clauses: S per
// value of j. Unit propagation: bounds consistent on stages once the atoms are decided, and the
// difference-logic solver is so on rows. Where stages are integers: two atoms and one clause per
// value of j, or a fact where the rows leave no choice.
#include "encoders/order/order.hpp"

namespace twill {

void order_precede(OrderModel& m, int u, int v, Cycle distance, Cycle delay, Lit condition) {
  if (condition.is_false()) return;
  if (u == v) {  // no schedule is lost: below RecMII there is none at all
    if (distance * m.request.ii_low < delay) m.f.clause({~condition});
    return;
  }
  // Of the j at which the rows leave no choice the last one says all: where there are many, it is
  // the first.
  Cycle first = -1;
  if (const Cycle last = (delay + 1) / m.request.ii_high - 2; last > kManyStages) first = last;
  for (Cycle j = first;; ++j) {
    const Lit late_enough = m.apart(u, v, delay, -j);
    if (late_enough.is_true()) return;
    if (m.any_stage()) {
      const Difference more = m.stages_apart(u, v, j + 1 - distance);
      if (condition.is_true() && late_enough.is_false() && !m.groups.by_parts())
        m.rows.fact(more);
      else
        m.f.clause({~condition, m.rows.atom(more), late_enough});
      continue;
    }
    const OrderModel::StageWindow& window = m.window[static_cast<std::size_t>(u)];
    for (Cycle a = window.first; a <= window.last; ++a)
      m.f.clause({~condition, ~m.stage_at_least(u, a), m.stage_at_least(v, a + j + 1 - distance),
                  late_enough});
  }
}

void encode_order_dependence(OrderModel& m) {
  for (std::size_t i = 0; i < m.problem.edges.size(); ++i) {
    const Edge& e = m.problem.edges[i];
    const Op& from = m.problem.ops[static_cast<std::size_t>(e.from)];
    const Op& to = m.problem.ops[static_cast<std::size_t>(e.to)];
    {
      const auto group = m.groups.open("dependence " + from.id + " -> " + to.id + " (delay " +
                                           std::to_string(e.delay) + ", distance " +
                                           std::to_string(e.distance) + ")",
                                       {ConstraintPart::dependence, static_cast<int>(i)});
      order_precede(m, e.from, e.to, e.distance, e.delay, kTrueLit);
    }
    if (from.spill == 0 || m.cross[i].is_false()) continue;
    if (!m.request.handover) {
      const auto group = m.groups.open("no hand-over of " + from.id + " to another slot",
                                       {ConstraintPart::no_handover, static_cast<int>(i)});
      m.f.unit(~m.cross[i]);
      continue;
    }
    const auto group =
        m.groups.open("hand-over of " + from.id + " to " + to.id + " on another slot (" +
                          std::to_string(from.spill) + " cycles)",
                      {ConstraintPart::handover, static_cast<int>(i)});
    order_precede(m, e.from, e.to, e.distance, e.delay + from.spill, m.cross[i]);
  }
  for (const Precedence& p : m.placement.limits.precedences) {
    const auto group = m.groups.open(ring_text(m.problem, p));
    order_precede(m, p.from, p.to, p.distance, p.delay, kTrueLit);
  }
}

}  // namespace twill
