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
// Where S are ops that wait on one slot, more is known (the gap argument of
// graph/bounds/slot_bounds.cpp, at every point of the sequence). Let G be ops of that slot that do
// not wait, each of which fills the same unit with one instance for all of its cycles, and M the
// cycles of the longest op of S that does not fill that unit. No op of S is issued while one of G
// executes, so each of G, a guest, lies in one gap, between the issues of u and of the next op of
// S. The guests of a gap come one after the other, a cycle after u's issue at the earliest and, if
// u fills the unit, after u: the gap is at least 1 + sum of n(o) or n(u) + sum of n(o). So it is
// longer than n(u) by the sum of e(o) = max(0, 1 + n(o) - M) at least. And where ops of no cycles
// wait on the slot, the instant of one is covered by nobody: the gap that it lies in is one cycle
// longer still, be there one such op or several. With these instants among those of which s is the
// least, the first inequality gains the e(o) of all o in G between some of S and v, and 1 if an
// instant is before v; the second the e(o) of all o that begin after v, and 1 if an instant is
// after v. Where slots are full at the bound, these cycles are all the slack that there is.
//
// Variables: none but the atoms, two a pair, which rules 2 and 8 have too; with gaps 1 + |S| a
// guest, "after some of S" and "between that and v", and with instants 2 |S|. One node, s. Clauses:
// only those that say when these variables are true, 2 |S| and one an instant for each guest,
// 2 |S| an instant. The constraints go to the difference-logic solver, in lemmas and certificates
// as steps of cycles.
#include <algorithm>
#include <cassert>

#include "encoders/order/order.hpp"

namespace twill {
namespace {

using Terms = std::vector<DifferenceSum::Term>;

// Implied when one of the literals is false. (Of "before" and "after" one holds, so that the other
// denies it: atoms stand in clauses in positive polarity only.)
Lit unless_all(OrderModel& m, std::span<const Lit> literals) {
  const Lit implied = m.f.fresh();
  for (const Lit l : literals) m.f.clause({implied, l});
  return implied;
}

void add_term(Terms& terms, Lit literal, Cycle amount) {
  if (!literal.is_constant()) terms.push_back({literal.dimacs(), amount});
}

}  // namespace

void order_sequence(OrderModel& m, std::span<const RowArc> arcs, std::span<const Lit> only_if,
                    const SlotGaps& gaps) {
  assert(std::all_of(arcs.begin(), arcs.end(), [](const RowArc& arc) { return arc.begin == 0; }));
  assert(std::adjacent_find(arcs.begin(), arcs.end(), [](const RowArc& a, const RowArc& b) {
           return a.op >= b.op;
         }) == arcs.end());
  const std::size_t members = arcs.size() + gaps.guests.size() + (gaps.instants.empty() ? 0 : 1);
  if (arcs.size() < 2 || members < 3) return;  // two rows and an atom say as much
  const int first = m.rows.new_node();
  for (const int z : gaps.instants) m.rows.fact({first, m.rows.node(z), 0, 0});
  std::vector<Lit> after_some;  // by guest
  for (const SlotGaps::Guest& o : gaps.guests) {
    std::vector<Lit> before;
    for (const RowArc& u : arcs) before.push_back(m.apart(o.op, u.op, o.cycles, 0));
    for (const int z : gaps.instants) before.push_back(m.apart(o.op, z, o.cycles, 0));
    after_some.push_back(unless_all(m, before));
  }
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
      add_term(before.terms, m.apart(u.op, v.op, u.end, 0), u.end);
      add_term(after.terms, m.apart(v.op, u.op, v.end, 0), u.end);
    }
    for (std::size_t i = 0; i < gaps.guests.size(); ++i) {
      const SlotGaps::Guest& o = gaps.guests[i];
      const Lit later = m.apart(v.op, o.op, 1, 0), between = m.f.fresh();
      m.f.clause({between, later, ~after_some[i]});
      add_term(before.terms, between, o.excess);
      add_term(after.terms, later, o.excess);
    }
    std::vector<Lit> instant_before, instant_after;
    for (const int z : gaps.instants) {
      instant_before.push_back(m.apart(z, v.op, 1, 0));
      instant_after.push_back(m.apart(v.op, z, v.end, 0));
    }
    if (!gaps.instants.empty()) {
      add_term(before.terms, unless_all(m, instant_after), 1);
      add_term(after.terms, unless_all(m, instant_before), 1);
    }
    conditional(std::move(before));
    conditional(std::move(after));
  }
}

}  // namespace twill
