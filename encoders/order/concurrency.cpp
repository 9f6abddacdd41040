// Rule 8, concurrency, in the order form: while an op of the slot executes, none that waits is
// issued (Soi et al. 2025, Figure 6, CONCURRENCY, and Section 4.3).
//
// For every pair of a possible waiter v and an op o with cycles > 0 that may share a slot, and
// every copy of o: o has ended when v is issued or has not begun, if v waits and the two are on the
// same slot. Variables: same[v, o], one per pair that can both share and part, implied by every
// common slot. Clauses: one per common slot, and two per pair where o is not longer than I. Ops
// that wait in every schedule and can go to one slot only are a sequence (order/sequence.cpp): of
// two such arcs that met, one would begin inside the other.
#include <map>

#include "encoders/order/order.hpp"
#include "graph/index.hpp"
#include "graph/inner_loops.hpp"

namespace twill {
namespace {

// Implied when the two ops are on one slot that is not the variable-latency one.
Lit same_slot(OrderModel& m, int v, int o) {
  const Problem& p = m.problem;
  bool may = false, must = false;
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w) {
    if (p.warps[static_cast<std::size_t>(w)].variable_latency) continue;
    const Lit a = m.on(v, w), b = m.on(o, w);
    may = may || (!a.is_false() && !b.is_false());
    must = must || (a.is_true() && b.is_true());
  }
  if (!may) return kFalseLit;
  if (must) return kTrueLit;
  const Lit same = m.f.fresh();
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w)
    if (!p.warps[static_cast<std::size_t>(w)].variable_latency)
      m.f.implies(m.on(v, w), m.on(o, w), same);
  return same;
}

// Does the op take one unit, more than half of it, from issue to end?
bool fills(const Problem& p, int v, int unit) {
  const Op& op = p.ops[at(v)];
  return std::any_of(op.reservations.begin(), op.reservations.end(), [&](const Reservation& r) {
    return r.unit == unit && r.offset == 0 && r.length == op.cycles &&
           2 * r.amount > p.units[at(unit)].capacity;
  });
}

// What else is on slot w, and nowhere else, in the gaps of that sequence: the guests of the unit
// that asks for most.
SlotGaps slot_gaps(OrderModel& m, std::span<const Lit> waits, int w,
                   std::span<const RowArc> sequence) {
  const Problem& p = m.problem;
  SlotGaps gaps;
  Cycle most = 0;
  for (int unit = 0; unit < static_cast<int>(p.units.size()); ++unit) {
    Cycle longest = 1, sum = 0;
    for (const RowArc& u : sequence)
      if (!fills(p, u.op, unit)) longest = std::max(longest, u.end);
    std::vector<SlotGaps::Guest> guests;
    for (int v = 0; v < static_cast<int>(waits.size()); ++v) {
      const Cycle cycles = p.ops[at(v)].cycles, excess = 1 + cycles - longest;
      if (cycles == 0 || excess <= 0 || waits[at(v)].is_true() || !m.on(v, w).is_true() ||
          !fills(p, v, unit))
        continue;
      guests.push_back({v, cycles, excess});
      sum += excess;
    }
    if (sum <= most) continue;
    most = sum;
    gaps.guests = std::move(guests);
  }
  for (int v = 0; v < static_cast<int>(waits.size()); ++v)
    if (p.ops[at(v)].cycles == 0 && waits[at(v)].is_true() && m.on(v, w).is_true())
      gaps.instants.push_back(v);
  return gaps;
}

// The ops that wait on slot w and nowhere else.
void slot_sequence(OrderModel& m, std::span<const Lit> waits, int w) {
  std::vector<RowArc> arcs;
  std::vector<Lit> only_if;
  const auto blocked = [&](int v) {
    return std::any_of(m.problem.edges.begin(), m.problem.edges.end(),
                       [&](const Edge& e) { return e.to == v && e.blocking; });
  };
  for (int v = 0; v < static_cast<int>(waits.size()); ++v) {
    const Cycle cycles = m.problem.ops[at(v)].cycles;
    const bool must = waits[at(v)].is_true() || (m.groups.by_parts() && blocked(v));
    if (cycles == 0 || !must || !m.on(v, w).is_true()) continue;
    arcs.push_back({v, 0, cycles});
    if (!waits[at(v)].is_true()) only_if.push_back(waits[at(v)]);
  }
  // Where ops wait or not as an explanation has it, gaps may be those of others.
  order_sequence(m, arcs, only_if, m.groups.by_parts() ? SlotGaps{} : slot_gaps(m, waits, w, arcs));
}

// Op v is not issued while o executes, where both literals are true.
void not_issued_in(OrderModel& m, int v, int o, Lit a, Lit b) {
  const Cycle cycles = m.problem.ops[at(o)].cycles;
  const Copies range = copies_near(m, {o, 0, cycles}, 0);
  for (Cycle copy = range.first; copy <= range.last; ++copy) {
    const Lit ended = m.apart(o, v, cycles, copy), later = m.apart(v, o, 1, -copy);
    m.f.clause({~a, ~b, ended, later});
    // Many copies that execute whatever the rows are say the same.
    if (ended.is_false() && later.is_false() && range.last - copy > kManyStages)
      copy = range.last - 4;
  }
}

// Per op: may another rule make facts of atoms of it and v? Those of a unit or an edge in common.
std::vector<char> joined_to(const Problem& p, int v) {
  std::vector<char> joined(p.ops.size(), 0);
  for (const Edge& e : p.edges) {
    if (e.from == v) joined[at(e.to)] = 1;
    if (e.to == v) joined[at(e.from)] = 1;
  }
  std::vector<char> reserved(p.units.size(), 0);
  for (const Reservation& r : p.ops[at(v)].reservations) reserved[at(r.unit)] = 1;
  for (std::size_t o = 0; o < joined.size(); ++o)
    for (const Reservation& r : p.ops[o].reservations)
      if (reserved[at(r.unit)] != 0) joined[o] = 1;
  return joined;
}

}  // namespace

// Such a pair has the clauses of copies -1 and 0, with three atoms that no other pair has.
FormulaSize least_concurrency_size(const OrderModel& m) {
  const Problem& p = m.problem;
  const std::vector<int> loop_of = inner_loop_of(p);
  std::vector<char> waits(p.ops.size(), 0);
  for (std::size_t i = 0; i < p.edges.size(); ++i)
    if (const Edge& e = p.edges[i];
        may_wait(p, loop_of, e) && (e.blocking || (spill_of(p, e) > 0 && !m.cross[i].is_false())))
      waits[at(e.to)] = 1;
  double pairs = 0;
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    if (waits[v] == 0 || at(m.leader[v]) != v) continue;
    const std::vector<char> joined = joined_to(p, static_cast<int>(v));
    for (std::size_t o = 0; o < p.ops.size(); ++o) {
      const Cycle cycles = p.ops[o].cycles;
      if (o == v || joined[o] != 0 || at(m.leader[o]) != o) continue;
      if (cycles <= 1 || cycles >= m.request.ii_low) continue;
      bool may_share = false;
      for (std::size_t w = 0; w < p.warps.size(); ++w)
        may_share = may_share || (!p.warps[w].variable_latency && !m.slot[v][w].is_false() &&
                                  !m.slot[o][w].is_false());
      pairs += may_share;
    }
  }
  return {3 * pairs, 2 * pairs};
}

void encode_order_concurrency(OrderModel& m) {
  const Problem& p = m.problem;
  const int ops = static_cast<int>(p.ops.size());
  const std::vector<Lit>& waits = m.waits = encode_waits(m);
  encode_inner_loops_alone(m, m.request.ii_low, [&](int issued, int executing, Lit a, Lit b) {
    not_issued_in(m, issued, executing, a, b);
  });
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w)
    if (!p.warps[at(w)].variable_latency) slot_sequence(m, waits, w);
  std::map<std::pair<int, int>, Lit> same;
  for (int v = 0; v < ops; ++v) {
    const Lit waiting = waits[static_cast<std::size_t>(v)];
    if (waiting.is_false()) continue;
    const auto group = m.groups.open("wait of " + p.ops[static_cast<std::size_t>(v)].id);
    for (int o = 0; o < ops; ++o) {
      const Op& other = p.ops[static_cast<std::size_t>(o)];
      if (o == v || other.cycles == 0) continue;
      const auto key = std::minmax(v, o);
      auto known = same.find(key);
      if (known == same.end()) known = same.emplace(key, same_slot(m, v, o)).first;
      if (known->second.is_false()) continue;
      not_issued_in(m, v, o, waiting, known->second);
    }
  }
}

}  // namespace twill
