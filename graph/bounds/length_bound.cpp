// Why they hold. Fix a schedule and one iteration of it. Op v starts at least earliest(v) after 0,
// the componentwise least solution of the dependences, and at least tail(v) before L, the longest
// path from its start to the end of the iteration. A segment of a unit lies inside its op
// (check()), so it occupies cycles in [earliest + offset, L - (tail - offset - length)). In no
// cycle do the segments of one iteration ask for more than the capacity, since together with the
// other iterations they do not. So for every set of segments L >= least head + ceil(area /
// capacity) + least tail; the worst sets are {head >= a, tail >= b}. Two ops that wait in every
// schedule and can only be on the same slot do not overlap (rule 8), like segments of a unit of
// capacity 1 that are as long as the ops. Nor does any other op of that slot execute in the cycle
// in which one of positive cycles starts and waits: together with the segments of one unit that
// this slot has, these cycles, which take all of it, are like segments, too.
//
// Copies in order (graph/bounds/copy_order.hpp): if there is a schedule of length L, there is one
// in which the copies of an op start one after another. What holds of the lengths of these holds of
// all, and in them each copy has the next one's tail and its own length behind it. Of copies that
// each go through two units in a row this is the bound of a flow shop of two machines (Johnson,
// NRLQ 1954), with what lies between the two and after them.
#include "graph/bounds/length_bound.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "graph/accepted.hpp"
#include "graph/bounds/copy_order.hpp"
#include "graph/bounds/destructive.hpp"
#include "graph/bounds/dual_feasible.hpp"
#include "graph/bounds/slot_bounds.hpp"
#include "graph/bounds/slot_line.hpp"
#include "graph/bounds/start_arcs.hpp"
#include "graph/bounds/two_units.hpp"
#include "graph/loop.hpp"
#include "graph/schedule.hpp"

namespace twill {
namespace {

constexpr Cycle kManyTurns = 64;

struct Demand {
  Cycle head, area, tail;
};

struct Worst {
  Cycle value = 0, head = 0, area = 0, tail = 0;
};

// The largest bound over the sets {head >= a, tail >= b}.
Worst one_machine(std::vector<Demand> uses, Amount capacity) {
  std::stable_sort(uses.begin(), uses.end(),
                   [](const Demand& a, const Demand& b) { return a.tail > b.tail; });
  Worst worst;
  for (const Demand& first : uses) {
    Cycle area = 0;
    for (const Demand& use : uses) {  // by falling tails
      if (use.head < first.head) continue;
      area += use.area;
      const Cycle value = first.head + (area + capacity - 1) / capacity + use.tail;
      if (value > worst.value) worst = {value, first.head, area, use.tail};
    }
  }
  return worst;
}

std::string arithmetic(const Worst& worst, Amount capacity) {
  std::string text = std::to_string(worst.area) + " cycles";
  if (capacity > 1) text += " on " + std::to_string(capacity) + " instances";
  if (worst.head > 0) text += " after " + std::to_string(worst.head);
  if (worst.tail > 0) text += " before the last " + std::to_string(worst.tail);
  return text + " = " + std::to_string(worst.value);
}

/// The same by weights in the place of amounts (dual_feasible.hpp), where that is more.
void add_weighed_bound(const Unit& unit, const std::vector<Demand>& uses,
                       const std::vector<Amount>& amounts, Cycle above,
                       std::vector<Bound>& bounds) {
  constexpr std::size_t kMostUses = 2'000;  // (Each weight has their square.)
  if (uses.size() > kMostUses) return;
  std::vector<Amount> distinct = amounts;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  Worst best;
  Amount best_most = 1;
  for (const DualFeasible& weights : unit_weights(distinct, unit.capacity)) {
    std::vector<Demand> weighed = uses;
    for (std::size_t i = 0; i < uses.size(); ++i)
      weighed[i].area =
          uses[i].area / amounts[i] * static_cast<Cycle>(weights.weight(amounts[i], unit.capacity));
    const auto most = static_cast<Amount>(weights.most(unit.capacity));
    const Worst worst = one_machine(std::move(weighed), most);
    if (worst.value <= std::max(above, best.value)) continue;
    best = worst;
    best_most = most;
  }
  if (best.value == 0) return;
  bounds.push_back(
      {best.value, "units",
       unit.name + " (weights in the place of amounts): " + arithmetic(best, best_most)});
}

/// An op with cycles that can be on one slot only.
struct OnSlot {
  std::size_t op = 0;
  bool waits = false;  ///< in every schedule
};

/// By slot.
std::vector<std::vector<OnSlot>> ops_of_slots(const Problem& problem) {
  std::vector<std::vector<OnSlot>> only(problem.warps.size());
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    if (problem.ops[v].cycles == 0) continue;
    const int op = static_cast<int>(v);
    if (const std::vector<int> slots = allowed_slots(problem, op); slots.size() == 1)
      only[static_cast<std::size_t>(slots.front())].push_back({v, always_waits(problem, op)});
  }
  return only;
}

/// The segments of a unit of the ops that can only be on slot `w`, with the cycles in which the
/// slot begins to wait. `latest` is the latest start, counted from L.
void waits_beside_units(const Problem& problem, std::size_t w, const std::vector<OnSlot>& only,
                        const std::vector<Cycle>& earliest, const std::vector<Cycle>& latest,
                        std::vector<Bound>& bounds) {
  if (std::none_of(only.begin(), only.end(), [](const OnSlot& one) { return one.waits; })) return;
  for (std::size_t f = 0; f < problem.units.size(); ++f) {
    const Amount capacity = problem.units[f].capacity;
    std::vector<Demand> uses;
    bool segments = false;
    for (const auto& [v, waits] : only) {
      if (waits) uses.push_back({earliest[v], capacity, -latest[v] - 1});
      for (const Reservation& r : problem.ops[v].reservations) {
        const Cycle first = waits && r.offset == 0 ? 1 : 0;
        if (static_cast<std::size_t>(r.unit) != f || r.length == first ||
            r.amount >= kMaxAmount / (r.length + 1))
          continue;
        uses.push_back({earliest[v] + r.offset + first, r.amount * (r.length - first),
                        -latest[v] - r.offset - r.length});
        segments = true;
      }
    }
    if (!segments) continue;
    if (const Worst worst = one_machine(std::move(uses), capacity); worst.value > 0)
      bounds.push_back({worst.value, "slot",
                        problem.warps[w].name + " and " + problem.units[f].name + ": " +
                            arithmetic(worst, capacity) +
                            ", with one cycle of each op that waits there"});
  }
}

/// By what is asked of units and slots between the earliest starts and the latest ones, which are
/// counted from L.
void add_window_bounds(const Problem& problem, const std::vector<Cycle>& earliest,
                       const std::vector<Cycle>& latest, std::vector<Bound>& bounds) {
  for (std::size_t f = 0; f < problem.units.size(); ++f) {
    std::vector<Demand> uses;
    std::vector<Amount> amounts;
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      for (const Reservation& r : problem.ops[v].reservations)
        // (An area whose sum over all ops might leave 64 bits is left out.)
        if (static_cast<std::size_t>(r.unit) == f && r.amount < kMaxAmount / (r.length + 1)) {
          uses.push_back(
              {earliest[v] + r.offset, r.amount * r.length, -latest[v] - r.offset - r.length});
          amounts.push_back(r.amount);
        }
    const Amount capacity = problem.units[f].capacity;
    const Worst worst = one_machine(uses, capacity);
    if (worst.value > 0)
      bounds.push_back(
          {worst.value, "units", problem.units[f].name + ": " + arithmetic(worst, capacity)});
    add_weighed_bound(problem.units[f], uses, amounts, worst.value, bounds);
  }
  const std::vector<std::vector<OnSlot>> only = ops_of_slots(problem);
  for (std::size_t w = 0; w < only.size(); ++w) {
    std::vector<Demand> waiting;
    for (const auto& [v, waits] : only[w])
      if (const Cycle cycles = problem.ops[v].cycles; waits)
        waiting.push_back({earliest[v], cycles, -latest[v] - cycles});
    if (const Worst worst = one_machine(std::move(waiting), 1); worst.value > 0)
      bounds.push_back({worst.value, "slot",
                        problem.warps[w].name + ": " + arithmetic(worst, 1) +
                            " of ops that wait and exclude each other"});
    waits_beside_units(problem, w, only[w], earliest, latest, bounds);
  }
}

/// The largest bound by copies in order, where it is above `above`.
std::optional<Bound> ordered_bound(const Problem& problem, Cycle ii, Cycle above) {
  const std::vector<CopyOrder> orders = copy_orders(problem);
  if (orders.empty()) return std::nullopt;
  std::vector<Cycle> delays = forced_delays(problem);
  std::optional<Bound> largest;
  Problem in_order = problem;
  for (const auto& [ops, apart] : orders) {
    in_order.edges.resize(problem.edges.size());
    delays.resize(problem.edges.size());
    for (std::size_t k = 1; k < ops.size(); ++k) {
      Edge& edge = in_order.edges.emplace_back();
      edge.from = ops[k - 1];
      edge.to = ops[k];
      delays.push_back(apart);
    }
    const auto earliest = earliest_starts(in_order, ii, delays);
    if (!earliest) continue;
    const Cycle path = schedule_length(problem, *earliest);
    std::vector<Bound> bounds = {{path, "dependences", "longest path = " + std::to_string(path)}};
    add_window_bounds(problem, *earliest, *latest_starts(in_order, ii, 0, delays), bounds);
    for (Bound& bound : bounds) {
      if (bound.value <= above) continue;
      above = bound.value;
      std::string text = std::move(bound.text) + ", with ";
      text += problem.ops[static_cast<std::size_t>(ops.front())].id + " first and ";
      text += problem.ops[static_cast<std::size_t>(ops.back())].id + " last of " +
              std::to_string(ops.size()) + " that can change places";
      if (apart > 0) text += ", " + std::to_string(apart) + " cycles from each to the next";
      largest = Bound{bound.value, "copies", std::move(text)};
    }
  }
  return largest;
}

}  // namespace

std::vector<Bound> plain_length_bounds(const Problem& problem, Cycle ii) {
  assert(ii >= 1 && consistent(problem));
  const std::vector<Cycle> delays = forced_delays(problem);
  const auto earliest = earliest_starts(problem, ii, delays);
  if (!earliest) return {};
  const std::vector<Cycle> latest = *latest_starts(problem, ii, 0, delays);  // 0 - tail
  std::vector<Bound> bounds;
  const Cycle path = schedule_length(problem, *earliest);
  bounds.push_back({path, "dependences", "longest path = " + std::to_string(path)});

  const bool pinned = latest_pinned_cycle(problem) > kManyTurns * ii;
  if (const StartArcs arcs(problem); pinned || arcs.most_turns() > kManyTurns) {
    if (const auto later = arcs.earliest(ii)) {
      const Cycle longest = schedule_length(problem, *later);
      if (longest - path > kManyTurns * ii)
        bounds.push_back({longest, pinned ? "pins" : "lifetimes",
                          "longest path, with pinned cycles and the copies of results that can be "
                          "live at once = " +
                              std::to_string(longest)});
    }
  }

  add_window_bounds(problem, *earliest, latest, bounds);
  std::stable_sort(bounds.begin(), bounds.end(),
                   [](const Bound& a, const Bound& b) { return a.value > b.value; });
  return bounds;
}

std::vector<Bound> length_bounds(const Problem& problem, Cycle ii) {
  std::vector<Bound> bounds = plain_length_bounds(problem, ii);
  if (bounds.empty()) return bounds;
  if (auto ordered = ordered_bound(problem, ii, bounds.front().value))
    bounds.insert(bounds.begin(), *std::move(ordered));
  if (auto line = slot_line_bound(problem, ii, bounds.front().value))
    bounds.insert(bounds.begin(), *std::move(line));
  if (auto rows = two_unit_bound(problem, ii, bounds.front().value))
    bounds.insert(bounds.begin(), *std::move(rows));
  if (auto deadline = destructive_bound(problem, ii, bounds.front().value))
    bounds.insert(bounds.begin(), *std::move(deadline));
  return bounds;
}

}  // namespace twill
