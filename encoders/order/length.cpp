// The length in the order form: start(v) + cycles(v) <= D for every op, D a parameter.
//
// For every stage a: stage(v) < a, or row(v) <= D - cycles(v) - a I, a difference from the op to
// the origin. Variables and clauses: S - 1 an op, and one fact. An atom whose right side cannot be
// met at the D of the moment is refuted by the difference-logic solver before the search begins.
#include "encoders/order/order.hpp"

namespace twill {

void encode_order_length(OrderModel& m) {
  for (int v = 0; v < static_cast<int>(m.problem.ops.size()); ++v) {
    const Cycle cycles = m.problem.ops[static_cast<std::size_t>(v)].cycles;
    m.rows.fact({m.rows.node(v), 0, cycles, 0, 1});
    const OrderModel::StageWindow& window = m.window[static_cast<std::size_t>(v)];
    for (Cycle a = std::max<Cycle>(1, window.first); a <= window.last; ++a)
      m.f.clause({~m.stage_at_least(v, a), m.rows.atom({m.rows.node(v), 0, cycles, a, 1})});
  }
}

}  // namespace twill
