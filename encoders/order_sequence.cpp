// Ops that exclude each other form a sequence, and the op that follows others in it begins after
// the sum of their cycles: redundant constraints for the order form.
//
// Source: the energy precedence constraint (Laborie, "Algorithms for propagating resource
// constraints in AI planning and scheduling", Artificial Intelligence 143, 2003), here modulo I.
//
// Let S be a set of ops with n(v) > 0 cycles each whose arcs [row(v), row(v) + n(v)) on the circle
// of I residues are pairwise disjoint in every schedule (rule 2: one instance of a unit; rule 8:
// ops that wait, on one slot), and s the least of their rows, that of op f. Of two ops exactly one
// is before the other: before(u, v) is the atom row(v) - row(u) >= n(u), for where the arc of the
// later one runs past I, it ends before I + s. So
//
//   row(v) - s >= sum of n(u) over all u before v, which lie in [s, row(v));
//   s + I - row(v) - n(v) >= sum of n(u) over all u after v, which lie in [row(v) + n(v), s + I).
//
// The second holds because the next copy of f begins at s + I, and because f is not alone, so that
// n(f) < I. Pairwise constraints say as much only once the order among the u is known. Where S
// fills all of I, as slots and units do at the bound, little is left to guess.
//
// Variables: none but the atoms, two a pair, which rules 2 and 8 have too. One node, s. No clauses:
// the constraints go to the difference-logic solver, in lemmas and certificates as steps of cycles.
#include "encoders/order.hpp"

namespace twill {

void order_sequence(OrderModel& m, std::span<const RowArc> arcs, std::span<const Lit> only_if) {
  if (arcs.size() < 3) return;  // two rows and an atom say as much
  const int first = m.rows.new_node();
  // As long as one of the literals is not true, the constraint is too weak to say anything.
  Cycle enough = 2 * m.request.ii_high;
  for (const RowArc& v : arcs) enough += v.end;
  const auto conditional = [&](DifferenceSum sum) {
    for (const Lit l : only_if) {
      sum.difference.weight -= enough;
      sum.terms.push_back({l.dimacs(), enough});
    }
    m.rows.sum(std::move(sum));
  };
  for (const RowArc& v : arcs) {
    const int row = m.rows.node(v.op);
    DifferenceSum before{{first, row, 0, 0}, {}};
    DifferenceSum after{{row, first, v.end, -1}, {}};
    for (const RowArc& u : arcs) {
      if (u.op == v.op) continue;
      if (const Lit l = m.apart(u.op, v.op, u.end, 0); !l.is_constant())
        before.terms.push_back({l.dimacs(), u.end});
      if (const Lit l = m.apart(v.op, u.op, v.end, 0); !l.is_constant())
        after.terms.push_back({l.dimacs(), u.end});
    }
    conditional(std::move(before));
    conditional(std::move(after));
  }
}

}  // namespace twill
