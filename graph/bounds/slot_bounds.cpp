// The slot bound, derived from rules 2 and 8.
//
// Fix a slot q (not the variable-latency one) and let P be the ops that can only go to q. W is the
// set of ops of P that wait in every schedule. Rule 8 says for w in W and any other op o of P with
// cycles(o) > 0: the row of w lies outside the arc [M(o), M(o) + cycles(o)) on the circle of I
// residues; when cycles(o) >= I there is no schedule. So:
//
// (1) Two waiters with cycles > 0 have disjoint arcs (if two arcs shorter than the circle meet, one
//     starts inside the other), and a waiter with zero cycles starts outside all of them. Starting
//     points of waiters with cycles are pairwise distinct, and distinct from those of waiters
//     without. Keep the waiters with cycles, and one without if there is any: their starting points
//     cut the circle into gaps with sum I. (Forgetting other waiters only weakens the conditions.)
// (2) With at least two starting points, the gap that begins at w is at least cycles(w), and at
//     least 1. A single waiter does not exclude itself: its gap is the whole circle, and may be
//     shorter than its cycles.
// (3) An op o of P that does not wait and has cycles > 0 has no starting point in its arc. It lies
//     in one gap [p, n) with p < M(o) and M(o) + cycles(o) <= n, so the gap is at least
//     1 + cycles(o).
// (4) Segments of unit f of an op o in a gap lie in [M(o) + head, M(o) + cycles(o) - tail), head
//     being the offset of the first, tail what the op still runs after the last. For any set S of
//     non-waiters in one gap, all their segments of f lie in [p + 1 + min head, n - min tail).
//     There, by rule 2, no residue carries more than cap(f); hence
//         gap >= 1 + min head(S) + ceil(sum of amount x length / cap(f)) + min tail(S).
//     The waiter that begins the gap may join S when there are two or more starting points (its arc
//     then lies in its gap): its head counts from p, as offset - 1 counted from p + 1. This is the
//     one-machine bound of Carlier (EJOR 1982) in each gap. Reservation lengths add up, not cycles.
//
// The bound is the least sum of gaps over all ways of putting the non-waiters into gaps. Leaving
// non-waiters out, or looking at one unit at a time, can only lower it, so when the exact search
// exceeds its node budget it is repeated on fewer ops.
// (5) No search is needed for what slot_shares.cpp sums up, unit by unit.
#include "graph/bounds/slot_bounds.hpp"
#include "graph/bounds/slot_shares.hpp"
#include "graph/inner_loops.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "graph/index.hpp"
#include "graph/loop.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

/// An op's use of one unit, as (4) sees it.
struct Use {
  int unit = 0;
  Cycle head = 0;  ///< from the first cycle after the gap's starting point
  Cycle area = 0;  ///< sum of amount x length
  Cycle tail = 0;
  auto operator<=>(const Use&) const = default;
};

struct Item {
  int op = 0;
  Cycle cycles = 0;
  std::vector<Use> uses;
};

Item make_item(const Problem& problem, int v, bool waiter) {
  Item item{v, problem.ops[at(v)].cycles, {}};
  for (int f = 0; f < static_cast<int>(problem.units.size()); ++f) {
    Cycle first = std::numeric_limits<Cycle>::max(), last = 0;
    Wide area = 0;
    for (const Reservation& r : problem.ops[at(v)].reservations) {
      if (r.unit != f) continue;
      first = std::min(first, r.offset);
      last = std::max(last, r.offset + r.length);
      area += Wide{r.amount} * r.length;
    }
    // An area whose sum over all ops might leave 64 bits is left out.
    if (area > 0 && area < Wide{1} << 48)
      item.uses.push_back(
          {f, first - (waiter ? 1 : 0), static_cast<Cycle>(area), item.cycles - last});
  }
  return item;
}

/// One starting point and what has been put into the gap behind it.
struct Gap {
  Cycle base = 0;         ///< (2)
  std::vector<Use> uses;  ///< the waiter's and the items'
  Cycle need = 0;         ///< the gap's least length so far
};

/// (4) for one unit: the largest bound over the sets {head >= a, tail >= b}, which are the worst.
Cycle one_machine(const std::vector<Use>& uses, int unit, Amount capacity) {
  Cycle need = 0;
  for (const Use& a : uses) {
    if (a.unit != unit) continue;
    for (const Use& b : uses) {
      if (b.unit != unit) continue;
      Cycle area = 0;
      for (const Use& use : uses)
        if (use.unit == unit && use.head >= a.head && use.tail >= b.tail) area += use.area;
      if (area > 0) need = std::max(need, 1 + a.head + (area + capacity - 1) / capacity + b.tail);
    }
  }
  return need;
}

/// Least sum of gaps over all distributions of the items; depth-first branch and bound.
class GapSearch {
 public:
  GapSearch(const Problem& problem, std::vector<Gap> gaps, std::vector<Item> items, long budget)
      : problem_(problem), gaps_(std::move(gaps)), items_(std::move(items)), budget_(budget) {
    std::stable_sort(items_.begin(), items_.end(),
                     [](const Item& a, const Item& b) { return a.cycles > b.cycles; });
    for (Gap& gap : gaps_) {
      gap.need = gap.base;
      base_ += gap.base;
    }
  }

  /// The least sum, or -1 when the budget ran out.
  Cycle run() {
    place(0, base_);
    return budget_ < 0 ? -1 : best_;
  }

 private:
  /// Length the gap needs once `item` lies in it too.
  Cycle with(const Gap& gap, const Item& item) const {
    Cycle need = std::max(gap.need, 1 + item.cycles);
    for (const Use& use : item.uses) {
      std::vector<Use> uses = gap.uses;
      uses.insert(uses.end(), item.uses.begin(), item.uses.end());
      need = std::max(need, one_machine(uses, use.unit, problem_.units[at(use.unit)].capacity));
    }
    return need;
  }

  /// What the items from `next` on cost at least, each alone: the dearest of them.
  Cycle look_ahead(std::size_t next) const {
    Cycle dearest = 0;
    for (std::size_t i = next; i < items_.size(); ++i) {
      Cycle least = std::numeric_limits<Cycle>::max();
      for (const Gap& gap : gaps_) {
        least = std::min(least, with(gap, items_[i]) - gap.need);
        if (least <= dearest) break;
      }
      dearest = std::max(dearest, least);
    }
    return dearest;
  }

  void place(std::size_t next, Cycle sum) {
    if (--budget_ < 0 || sum + look_ahead(next) >= best_) return;
    if (next == items_.size()) {
      best_ = sum;
      return;
    }
    const Item& item = items_[next];
    std::vector<std::pair<Cycle, std::size_t>> order;
    std::set<std::tuple<Cycle, Cycle, std::vector<Use>>> seen;  // equal gaps are tried once
    for (std::size_t g = 0; g < gaps_.size(); ++g) {
      std::vector<Use> uses = gaps_[g].uses;
      std::sort(uses.begin(), uses.end());
      if (!seen.emplace(gaps_[g].base, gaps_[g].need, std::move(uses)).second) continue;
      order.emplace_back(with(gaps_[g], item) - gaps_[g].need, g);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [extra, g] : order) {
      const Gap saved = gaps_[g];
      gaps_[g].need += extra;
      gaps_[g].uses.insert(gaps_[g].uses.end(), item.uses.begin(), item.uses.end());
      place(next + 1, sum + extra);
      gaps_[g] = saved;
      if (best_ == base_) return;
    }
  }

  const Problem& problem_;
  std::vector<Gap> gaps_;
  std::vector<Item> items_;
  long budget_;
  Cycle base_ = 0;
  Cycle best_ = std::numeric_limits<Cycle>::max();
};

/// The best of the searches that finish: all items, the items of each unit, the longest few.
Cycle least_sum(const Problem& problem, const std::vector<Gap>& gaps,
                const std::vector<Item>& items) {
  constexpr long kBudget = 3000;
  constexpr std::size_t kFew = 6;
  const Cycle all = GapSearch(problem, gaps, items, kBudget).run();
  if (all >= 0) return all;
  Cycle best = 0;
  const auto attempt = [&](std::vector<Item> some) {
    Cycle sum = GapSearch(problem, gaps, some, kBudget).run();
    if (sum < 0) {
      std::stable_sort(some.begin(), some.end(),
                       [](const Item& a, const Item& b) { return a.cycles > b.cycles; });
      some.resize(std::min(some.size(), kFew));
      sum = GapSearch(problem, gaps, some, kBudget).run();
    }
    best = std::max(best, sum);
  };
  for (int f = 0; f < static_cast<int>(problem.units.size()); ++f) {
    std::vector<Item> of_unit;
    for (const Item& item : items)
      if (std::any_of(item.uses.begin(), item.uses.end(),
                      [f](const Use& use) { return use.unit == f; }))
        of_unit.push_back(item);
    attempt(std::move(of_unit));
  }
  attempt(items);
  return best;
}

std::optional<Bound> bound_of_slot(const Problem& problem, int slot, const std::vector<int>& ops) {
  std::vector<int> waiters, others;  // with cycles
  std::vector<Item> items;
  bool idle_waiter = false;  // one without cycles
  for (const int v : ops) {
    const bool waits = always_waits(problem, v);
    if (problem.ops[at(v)].cycles == 0)
      idle_waiter = idle_waiter || waits;
    else if (waits)
      waiters.push_back(v);
    else
      others.push_back(v);
  }
  for (const int v : others) items.push_back(make_item(problem, v, false));
  const std::size_t points = waiters.size() + (idle_waiter ? 1 : 0);
  if (points == 0 || (points == 1 && items.empty())) return std::nullopt;

  std::vector<Gap> gaps;
  Cycle clique = 0;
  for (const int v : waiters) {
    Gap gap;
    if (points > 1) {
      gap.base = problem.ops[at(v)].cycles;
      gap.uses = make_item(problem, v, true).uses;
    }
    clique += gap.base;
    gaps.push_back(std::move(gap));
  }
  if (idle_waiter) gaps.push_back({Cycle{points > 1 ? 1 : 0}, {}, 0});
  const Cycle instant = idle_waiter && points > 1 ? 1 : 0;
  const Cycle sum = std::max({least_sum(problem, gaps, items), clique + instant,
                              shared_gaps(problem, waiters, idle_waiter, others)});

  Bound bound{std::max<Cycle>(1, sum), "slot", problem.warps[at(slot)].name + ": "};
  if (points > 1) {
    bound.text += std::to_string(clique) + " cycles of " + std::to_string(waiters.size()) +
                  " waiting ops that exclude each other";
    if (instant) bound.text += " + 1 for a waiting op of 0 cycles";
  } else {
    bound.text += "one waiting op";
  }
  if (sum > clique + instant)
    bound.text +=
        " + " + std::to_string(sum - clique - instant) + " for the other ops between two waits";
  bound.text += " = " + std::to_string(sum);
  return bound;
}

}  // namespace

bool always_waits(const Problem& problem, int v) {
  if (exempt_from_concurrency(problem, v)) return false;
  // A part of an inner loop has its slot for itself (rule 12), or does not wait.
  if (inner_loop_of(problem)[at(v)] >= 0) return problem.ops[at(v)].cycles > 0;
  return std::any_of(problem.edges.begin(), problem.edges.end(), [&](const Edge& edge) {
    return edge.to == v &&
           (edge.blocking || (spill_of(problem, edge) > 0 && crossing_forced(problem, edge)));
  });
}

std::vector<Bound> slot_bounds(const Problem& problem) {
  std::vector<std::vector<int>> only(problem.warps.size());
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    if (const std::vector<int> slots = allowed_slots(problem, v); slots.size() == 1)
      only[at(slots.front())].push_back(v);
  std::vector<Bound> bounds;
  for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w)
    if (std::optional<Bound> bound = bound_of_slot(problem, w, only[at(w)]))
      bounds.push_back(std::move(*bound));
  return bounds;
}

}  // namespace twill
