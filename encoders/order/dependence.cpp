// A dependence in the order form: start(v) + distance I >= start(u) + delay. Rules 1 and 7 and
// rings are made of it (encoders/dependence.cpp).
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

void OrderModel::precede(int u, int v, Cycle distance, Cycle delay, Lit condition) {
  if (condition.is_false()) return;
  if (u == v) {  // no schedule is lost: below RecMII there is none at all
    if (distance * request.ii_low < delay) f.clause({~condition});
    return;
  }
  // Of the j at which the rows leave no choice the last one says all: where there are many, it is
  // the first.
  Cycle first = -1;
  if (const Cycle last = (delay + 1) / request.ii_high - 2; last > kManyStages) first = last;
  for (Cycle j = first;; ++j) {
    const Lit late_enough = apart(u, v, delay, -j);
    if (late_enough.is_true()) return;
    if (any_stage()) {
      const Difference more = stages_apart(u, v, j + 1 - distance);
      if (condition.is_true() && late_enough.is_false() && !groups.by_parts())
        rows.fact(more);
      else
        f.clause({~condition, rows.atom(more), late_enough});
      continue;
    }
    const StageWindow& from = window[static_cast<std::size_t>(u)];
    for (Cycle a = from.first; a <= from.last; ++a)
      f.clause({~condition, ~stage_at_least(u, a), stage_at_least(v, a + j + 1 - distance),
                late_enough});
  }
}

}  // namespace twill
