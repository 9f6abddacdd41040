#include "graph/bounds/bounds.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "graph/accepted.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/bounds/dual_feasible.hpp"
#include "graph/bounds/next_interval.hpp"
#include "graph/bounds/packing.hpp"
#include "graph/bounds/slot_bounds.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/loop.hpp"
#include "graph/memory_charges.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

/// "3 x 512 + 2 x 64": equal terms are counted, larger ones first.
std::string sum_text(const std::map<Cycle, int, std::greater<>>& terms) {
  std::string text;
  for (const auto& [value, count] : terms) {
    if (!text.empty()) text += " + ";
    text += (count > 1 ? std::to_string(count) + " x " : "") + std::to_string(value);
  }
  return text;
}

std::string instances(Amount n) {
  return std::to_string(n) + (n == 1 ? " instance" : " instances");
}

/// Bound of one shared capacity: the sum of areas (amount x cycles) over it.
Bound area_bound(const std::string& name, const std::string& label, Cycle total, Amount capacity,
                 const std::map<Cycle, int, std::greater<>>& terms, const std::string& what) {
  // Beyond what an interval can be, one more says the same: none. (Multiples of it are computed.)
  const Cycle least = std::min(ceil_divide(total, capacity), kMaxInterval + 1);
  Bound bound{std::max<Cycle>(1, least), name, ""};
  const std::string sum = sum_text(terms), all = std::to_string(total);
  bound.text = label + ": " + sum + (sum == all ? "" : " = " + all) + what;
  if (bound.value != total) bound.text += ": at least " + std::to_string(bound.value) + " cycles";
  return bound;
}

/// No product or sum of a bound leaves 64 bits; a bound that would is left out.
bool add_area(Cycle& total, Amount amount, Cycle cycles) {
  Cycle area = 0;
  return !__builtin_mul_overflow(amount, cycles, &area) &&
         !__builtin_add_overflow(total, area, &total) && total < (Cycle{1} << 62);
}

/// What unit f is asked for by weights in the place of amounts, where that is more than `above`.
std::optional<Bound> weighed_bound(const Problem& problem, int f, Cycle above) {
  const Unit& unit = problem.units[at(f)];
  std::map<Amount, Wide> cycles;
  for (const Op& op : problem.ops)
    for (const Reservation& r : op.reservations)
      if (r.unit == f) cycles[r.amount] += r.length;
  std::vector<Amount> amounts;
  for (const auto& [amount, sum] : cycles) amounts.push_back(amount);
  std::optional<Bound> best;
  for (const DualFeasible& weights : unit_weights(amounts, unit.capacity)) {
    Wide sum = 0;
    std::string text;
    for (const auto& [amount, asked] : cycles) {
      const Wide weight = weights.weight(amount, unit.capacity);
      sum += weight * asked;
      if (weight == 0) continue;
      text += (text.empty() ? "" : " + ") + std::to_string(static_cast<Cycle>(weight)) + " x " +
              std::to_string(static_cast<Cycle>(asked));
    }
    const Wide most = weights.most(unit.capacity);
    const Wide least = std::min<Wide>((sum + most - 1) / most, kMaxInterval + 1);
    if (least <= above) continue;
    above = static_cast<Cycle>(least);
    best = Bound{above, "units",
                 unit.name + ": " + text + " (weights by amounts, of which no more than " +
                     std::to_string(static_cast<Cycle>(most)) + " fit on " +
                     instances(unit.capacity) + "): at least " + std::to_string(above) + " cycles"};
  }
  return best;
}

}  // namespace

std::vector<Cycle> smallest_lifetimes(const Problem& problem) {
  const std::vector<Cycle> delays = forced_delays(problem);
  std::vector<Cycle> life(problem.ops.size(), 0);
  for (std::size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge& edge = problem.edges[e];
    life[at(edge.from)] = std::max(life[at(edge.from)], delays[e] + edge.hold);
  }
  return life;
}

std::vector<Bound> res_mii(const Problem& problem) {
  assert(consistent(problem));
  std::vector<Bound> bounds;
  for (int f = 0; f < static_cast<int>(problem.units.size()); ++f) {
    const Unit& unit = problem.units[at(f)];
    std::map<Cycle, int, std::greater<>> areas, lengths;
    Cycle area = 0, exclusive = 0;
    bool fits = true;
    for (const Op& op : problem.ops) {
      for (const Reservation& r : op.reservations) {
        if (r.unit != f) continue;
        fits = fits && add_area(area, r.amount, r.length);
        if (!fits) continue;
        ++areas[r.amount * r.length];
        if (r.amount > unit.capacity / 2) {
          exclusive += r.length;
          ++lengths[r.length];
        }
      }
    }
    if (!fits || areas.empty()) continue;
    Bound bound = area_bound("units", unit.name, area, unit.capacity, areas,
                             " cycles on " + instances(unit.capacity));
    if (exclusive > bound.value)
      bound = area_bound("units", unit.name, exclusive, 1, lengths,
                         " cycles, no two at a time on " + instances(unit.capacity));
    if (auto weighed = weighed_bound(problem, f, bound.value)) bound = *std::move(weighed);
    bounds.push_back(std::move(bound));
  }
  return bounds;
}

bool reservation_fits(const Problem& problem, int v, Cycle ii) {
  assert(ii >= 1 && at(v) < problem.ops.size());
  // Every segment covers all residues floor(length / I) times, and an arc of the rest once more:
  // where it begins the amount is added, where it ends it is taken off.
  struct Change {
    Cycle residue;
    Wide amount;
  };
  const Op& op = problem.ops[at(v)];
  for (int f = 0; f < static_cast<int>(problem.units.size()); ++f) {
    const Amount capacity = problem.units[at(f)].capacity;
    Wide used = 0;  // at residue 0, before the changes there
    std::vector<Change> changes;
    for (const Reservation& r : op.reservations) {
      if (r.unit != f) continue;
      used += Wide{r.amount} * (r.length / ii);
      const Cycle rest = r.length % ii, begin = r.offset % ii, end = (begin + rest) % ii;
      if (rest == 0) continue;
      changes.push_back({begin, r.amount});
      if (end == 0) continue;
      if (end < begin) used += r.amount;  // it is there at residue 0
      changes.push_back({end, -Wide{r.amount}});
    }
    if (used > capacity) return false;
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return a.residue != b.residue ? a.residue < b.residue : a.amount < b.amount;
    });
    for (const Change& change : changes) {
      used += change.amount;
      if (used > capacity) return false;
    }
  }
  return true;
}

std::optional<Bound> rec_mii(const Problem& problem, bool forced_spills) {
  assert(consistent(problem));
  const std::vector<Cycle> forced = forced_spills ? forced_delays(problem) : std::vector<Cycle>{};
  // The feasible I form a half line; a cycle has distance >= 1, so the sum of all delays is in it.
  Cycle high = 1;
  for (std::size_t e = 0; e < problem.edges.size(); ++e)
    high += forced.empty() ? problem.edges[e].delay : forced[e];
  Cycle low = 0;
  std::vector<int> critical = positive_cycle(problem, low, forced);
  if (critical.empty()) return std::nullopt;
  Cycle delay = 0, distance = 0;
  const auto refute = [&] {  // every I below the cycle's ratio
    delay = distance = 0;
    for (const int e : critical) {
      delay += forced.empty() ? problem.edges[at(e)].delay : forced[at(e)];
      distance += problem.edges[at(e)].distance;
    }
    low = ceil_divide(delay, distance) - 1;
  };
  refute();
  // Mostly the next I is feasible; where it is not, halve.
  for (bool next = true; high - low > 1; next = !next) {
    const Cycle middle = next ? low + 1 : low + (high - low) / 2;
    if (std::vector<int> cycle = positive_cycle(problem, middle, forced); cycle.empty()) {
      high = middle;
    } else {
      critical = std::move(cycle);
      refute();
    }
  }
  std::string path;
  for (const int e : critical) path += problem.ops[at(problem.edges[at(e)].from)].id + " -> ";
  path += problem.ops[at(problem.edges[at(critical.front())].from)].id;
  Bound bound{high, forced_spills ? "recurrence with forced spills" : "recurrence", ""};
  bound.text = path + ": " + std::to_string(delay) + " cycles of delay over distance " +
               std::to_string(distance);
  if (distance > 1) bound.text += ": at least " + std::to_string(high) + " cycles";
  return bound;
}

std::vector<Bound> lifetime_bounds(const Problem& problem) {
  assert(consistent(problem));
  const std::vector<Cycle> life = smallest_lifetimes(problem);
  std::vector<Bound> bounds;
  const auto add = [&](const std::string& label, Amount capacity,
                       const std::vector<Amount>& amounts, const std::string& noun) {
    std::map<Cycle, int, std::greater<>> terms;
    Cycle total = 0;
    bool fits = true;
    for (std::size_t v = 0; v < problem.ops.size(); ++v) {
      const Amount amount = amounts[v];
      if (amount <= 0 || life[v] <= 0) continue;
      fits = fits && add_area(total, amount, life[v]);
      if (fits) ++terms[amount * life[v]];
    }
    if (terms.empty() || !fits || capacity <= 0) return;
    bounds.push_back(
        area_bound("lifetimes", label, total, capacity, terms,
                   " (amount x least lifetime) in " + std::to_string(capacity) + " " + noun));
  };
  for (int m = 0; m < static_cast<int>(problem.memories.size()); ++m) {
    const Memory& memory = problem.memories[at(m)];
    std::vector<Amount> amounts(problem.ops.size(), 0);
    for (std::size_t v = 0; v < amounts.size(); ++v)
      for (const Footprint& f : problem.ops[v].footprints)
        if (f.memory == m) amounts[v] += f.amount;
    add(memory.name, memory.capacity, amounts, "units of memory");
    if (!memory.rings) continue;  // a ring holds at least what is live in it
    const MemoryCharges charges = memory_charges(problem, m);
    add(memory.name, memory.capacity - charges.least_rings(), charges.live,
        "units of memory beside rings of one buffer each");
  }
  Amount registers = 0;
  std::vector<Amount> amounts;
  for (const WarpSlot& slot : problem.warps) registers += slot.registers;
  for (const Op& op : problem.ops) amounts.push_back(op.registers);
  add("registers", registers, amounts, "registers of all slots");
  return bounds;
}

std::optional<Bound> pin_bound(const Problem& problem) {
  const Cycle latest = latest_pinned_cycle(problem);
  if (latest <= 0) return std::nullopt;
  const Cycle least = next_interval(problem, 1, latest);
  if (least == 1) return std::nullopt;
  return Bound{least, "pins",
               "the cycles that ops are pinned to, with the delays, lifetimes and reservations "
               "between them, leave no smaller interval: at least " +
                   std::to_string(least) + " cycles"};
}

std::vector<Bound> lower_bounds(const Problem& problem) {
  assert(consistent(problem));
  std::vector<Bound> bounds = res_mii(problem);
  const std::optional<Bound> plain = rec_mii(problem, false), forced = rec_mii(problem, true);
  if (plain) bounds.push_back(*plain);
  if (forced && (!plain || forced->value > plain->value)) bounds.push_back(*forced);
  for (auto* more : {&channel_bounds, &lifetime_bounds, &slot_bounds})
    for (Bound& bound : more(problem)) bounds.push_back(std::move(bound));
  if (auto pins = pin_bound(problem)) {
    const bool largest = std::all_of(bounds.begin(), bounds.end(),
                                     [&](const Bound& b) { return b.value < pins->value; });
    if (largest) bounds.push_back(*std::move(pins));
  }
  if (const Cycle asked = problem.interval.least; asked > 1)
    bounds.push_back({asked, "range", "the problem asks for I >= " + std::to_string(asked)});
  Cycle least = 1;
  for (const Bound& bound : bounds) least = std::max(least, bound.value);
  if (auto packing = packing_bound(problem, least)) bounds.push_back(*std::move(packing));
  bounds.push_back({1, "trivial", "an initiation interval is at least 1 cycle"});
  std::stable_sort(bounds.begin(), bounds.end(),
                   [](const Bound& a, const Bound& b) { return a.value > b.value; });
  return bounds;
}

}  // namespace twill
