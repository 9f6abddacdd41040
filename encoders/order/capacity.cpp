// Rule 2, capacity of units, in the order form (Soi et al. 2025, Figure 4, CAPACITY, for the
// infinite steady state).
//
// Two segments that together ask for more than the unit has exclude each other: for every copy of
// the one, the other has ended before it begins or begins after it has ended; two atoms a clause,
// and for segments at the issue of ops not longer than I one clause and two facts a pair. What is
// left, on units with several instances, is summed at the instants where segments begin (a sum
// over arcs is largest there): one literal per copy of a segment that may cover the instant, with
// one clause, and one pseudo-Boolean sum a segment. Where every op that uses the unit takes
// more than half of it, once and from its issue on, these ops are a sequence (order/sequence.cpp).
#include <set>
#include <utility>

#include "encoders/order/order.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/divide.hpp"

namespace twill {
namespace {

constexpr std::size_t kManySegments = 256;
constexpr std::int64_t kManyPairs = 4'096;     // of segments of two ops
constexpr std::size_t kManyMet = 1'000'000;    // intervals at which they meet
constexpr Amount kMaxWeight = 2 * kMaxAmount;  // more than any capacity

struct Segment {
  RowArc arc;
  Amount amount = 0;
};

// Copy `copy` of a and copy 0 of b do not meet. False: they do whatever the rows are.
bool disjoint(OrderModel& m, const RowArc& a, const RowArc& b, Cycle copy) {
  const Lit b_after_a = m.apart(a.op, b.op, a.end - b.begin, copy);
  const Lit a_after_b = m.apart(b.op, a.op, b.end - a.begin, -copy);
  m.f.clause({b_after_a, a_after_b});
  return !b_after_a.is_false() || !a_after_b.is_false();
}

// Intervals that meet or touch become one.
void merge(std::vector<std::pair<Cycle, Cycle>>& intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::size_t kept = 0;
  for (const auto& [first, last] : intervals) {
    if (kept > 0 && first <= intervals[kept - 1].second + 1)
      intervals[kept - 1].second = std::max(intervals[kept - 1].second, last);
    else
      intervals[kept++] = {first, last};
  }
  intervals.resize(kept);
}

// Of segments that all exclude each other, if there is one an op, at its issue.
void unit_sequence(OrderModel& m, int unit, std::span<const Segment> segments) {
  std::vector<RowArc> arcs;
  for (const Segment& s : segments) {
    if (s.arc.begin != 0 || (!arcs.empty() && arcs.back().op == s.arc.op)) return;
    arcs.push_back(s.arc);
  }
  if (!m.groups.by_parts()) return order_sequence(m, arcs);
  const Lit selector = m.groups.selector({ConstraintPart::unit, unit});
  order_sequence(m, arcs, {&selector, 1});
}

Copies meeting(const OrderModel& m, const RowArc& a, const RowArc& b) {
  const Copies begin = copies_near(m, a, b.begin), end = copies_near(m, a, b.end);
  return {std::min(begin.first, end.first), std::max(begin.last, end.last)};
}

// No two segments of ops v and w that exclude each other meet: row(w) - row(v) lies in none of the
// intervals of residues at which two do, each a clause a turn.
void exclude_distances(OrderModel& m, std::span<const Segment> segments, Amount capacity, int v,
                       int w) {
  const Cycle ii = m.request.ii_low;
  std::vector<std::pair<Cycle, Cycle>> met;  // first and last, the first in [0, I)
  std::size_t room = kManyMet;
  for (const Segment& a : segments)
    for (const Segment& b : segments) {
      if (a.arc.op != v || b.arc.op != w || a.amount + b.amount <= capacity) continue;
      const Cycle first = a.arc.begin - b.arc.end + 1, last = a.arc.end - b.arc.begin - 1;
      if (last - first + 1 >= ii) return m.f.clause({});
      const Cycle residue = mod(first, ii);
      met.emplace_back(residue, residue + last - first);
      m.f.tick();
      if (met.size() < room) continue;
      merge(met);
      room = std::max(room, 2 * met.size());
    }
  merge(met);
  for (const auto& [first, last] : met)
    for (Cycle turns = -2; turns <= 0; ++turns)
      m.f.clause({m.apart(v, w, last + 1, turns), m.apart(w, v, 1 - first, -turns)});
}

}  // namespace

void encode_order_capacity(OrderModel& m) {
  const Problem& p = m.problem;
  for (int unit = 0; unit < static_cast<int>(p.units.size()); ++unit) {
    const Unit& u = p.units[static_cast<std::size_t>(unit)];
    const auto group =
        m.groups.open("capacity of " + u.name + " (" + std::to_string(u.capacity) + ")",
                      {ConstraintPart::unit, unit});
    std::vector<Segment> segments;
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
      for (const Reservation& r : p.ops[static_cast<std::size_t>(v)].reservations)
        if (r.unit == unit && r.length > 0 && r.amount > 0)
          segments.push_back({{v, r.offset, r.offset + r.length}, r.amount});
    // Of an op with many segments those meet one another as they do whatever its row is.
    const auto alone = [&](std::size_t i, std::size_t j) {
      return segments[i].arc.op == segments[j].arc.op && segments.size() > kManySegments &&
             m.request.ii_low == m.request.ii_high;
    };
    if (segments.size() > kManySegments && m.request.ii_low == m.request.ii_high)
      for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
        if (!reservation_fits(p, v, m.request.ii_low)) return m.f.clause({});
    // Two ops with many segments each: what their rows may differ by, all segments together.
    std::vector<std::int64_t> of_op(p.ops.size(), 0);
    for (const Segment& s : segments) ++of_op[static_cast<std::size_t>(s.arc.op)];
    std::pair<int, int> last_together{-1, -1};
    std::set<std::pair<int, int>> together;
    const auto one_by_one = [&](const Segment& a, const Segment& b) {
      const std::pair<int, int> ops{a.arc.op, b.arc.op};
      if (ops == last_together) return false;
      if (m.request.ii_low != m.request.ii_high || ops.first == ops.second ||
          of_op[static_cast<std::size_t>(ops.first)] * of_op[static_cast<std::size_t>(ops.second)] <
              kManyPairs)
        return true;
      together.insert(last_together = ops);
      return false;
    };
    bool sums = false;
    for (std::size_t i = 0; i < segments.size(); ++i)
      for (std::size_t j = i; j < segments.size(); ++j) {
        if (segments[i].amount + segments[j].amount <= u.capacity) {
          sums = true;
          continue;
        }
        if (alone(i, j) || !one_by_one(segments[i], segments[j])) continue;
        const Copies range = meeting(m, segments[i].arc, segments[j].arc);
        for (Cycle copy = range.first; copy <= range.last; ++copy)
          if ((i != j || copy != 0) && !disjoint(m, segments[i].arc, segments[j].arc, copy) &&
              range.last - copy > kManyStages)
            copy = range.last - 4;  // no schedule, however often it is said
      }
    for (const auto& [v, w] : together) exclude_distances(m, segments, u.capacity, v, w);
    if (!sums) {
      unit_sequence(m, unit, segments);
      continue;
    }
    for (std::size_t j = 0; j < segments.size(); ++j) {
      std::vector<Term> terms;
      for (std::size_t i = 0; i < segments.size(); ++i) {
        if (segments[i].amount + segments[j].amount > u.capacity) {  // excluded above
          if (i == j) terms.push_back({segments[j].amount, kTrueLit});
          continue;
        }
        if (alone(i, j)) {
          const Cycle ii = m.request.ii_low, begin = segments[j].arc.begin;
          const Cycle copies = floor_divide(begin - segments[i].arc.begin, ii) -
                               floor_divide(begin - segments[i].arc.end, ii);
          if (copies > 0) terms.push_back({copies * segments[i].amount, kTrueLit});
          continue;
        }
        const Copies range = copies_near(m, segments[i].arc, segments[j].arc.begin);
        for (Cycle copy = range.first; copy <= range.last; ++copy) {
          const Lit covers =
              covering(m, segments[i].arc, copy, segments[j].arc.op, segments[j].arc.begin);
          terms.push_back({segments[i].amount, covers});
          // Of many copies, those that cover the instant whatever the rows are are one term.
          const Cycle more = covers.is_true() ? range.last - kManyStages - copy : 0;
          if (more <= 0) continue;
          terms.back().weight =
              static_cast<Amount>(std::min<Wide>(Wide{1 + more} * segments[i].amount, kMaxWeight));
          copy += more;
        }
      }
      at_most_sum(m.f, m.choice, terms, u.capacity);
    }
  }
}

}  // namespace twill
