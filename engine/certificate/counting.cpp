// What each test adds up is said beside it. The rules are those of graph/README's model: 1 and 7
// for dependences, 2 for units (9, channels, is the judge's own), 3, 4 and 6 for lifetimes, 8 for
// waits.
#include "engine/certificate/counting.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/certificate/fed_units.hpp"
#include "engine/certificate/forced.hpp"
#include "engine/certificate/packed.hpp"
#include "engine/certificate/pinned_intervals.hpp"
#include "engine/certificate/shut_windows.hpp"
#include "engine/certificate/slot_gaps.hpp"
#include "engine/certificate/slot_line.hpp"
#include "engine/certificate/window_area.hpp"
#include "graph/accepted.hpp"
#include "graph/bounds/automorphism.hpp"
#include "graph/index.hpp"
#include "graph/memory_charges.hpp"
#include "graph/verify.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

constexpr std::size_t kMostWeighed = 2'000;  // segments of a unit

// All that ask for unit f take amount x length of capacity x I cycles, or weight x length of what
// fits; and those that take more than half of the instances exclude each other.
bool units_exceeded(const Problem& p, Cycle ii) {
  for (int f = 0; f < static_cast<int>(p.units.size()); ++f) {
    const Amount capacity = p.units[at(f)].capacity;
    Wide alone = 0;
    std::vector<Amount> amounts;
    std::vector<Cycle> lengths;
    for (const Op& op : p.ops)
      for (const Reservation& r : op.reservations) {
        if (r.unit != f) continue;
        amounts.push_back(r.amount);
        lengths.push_back(r.length);
        if (2 * Wide{r.amount} > capacity) alone += r.length;
      }
    if (alone > ii) return true;
    for (const auto& [most, weights] : weights_in(amounts, capacity)) {
      Wide asked = 0;
      for (std::size_t i = 0; i < lengths.size(); ++i) asked += weights[i] * lengths[i];
      if (asked > most * ii) return true;
    }
  }
  return false;
}

// A result is held for the delay and the hold of each use at least, so that amount x cycles of all
// results must find room in capacity x I.
bool lifetimes_exceeded(const Problem& p, const Forced& forced, Cycle ii) {
  std::vector<Cycle> held(p.ops.size(), 0);
  for (std::size_t e = 0; e < p.edges.size(); ++e)
    held[at(p.edges[e].from)] =
        std::max(held[at(p.edges[e].from)], forced.delay[e] + p.edges[e].hold);
  const auto exceeds = [&](const std::vector<Amount>& amounts, Wide capacity) {
    Wide area = 0;
    for (std::size_t v = 0; v < held.size(); ++v) area += Wide{amounts[v]} * held[v];
    return area > capacity * ii;
  };
  for (int m = 0; m < static_cast<int>(p.memories.size()); ++m) {
    std::vector<Amount> amounts(p.ops.size(), 0);
    for (std::size_t v = 0; v < p.ops.size(); ++v)
      for (const Footprint& f : p.ops[v].footprints)
        if (f.memory == m) amounts[v] += f.amount;
    const Memory& memory = p.memories[at(m)];
    if (exceeds(amounts, memory.capacity)) return true;
    if (!memory.rings) continue;
    // Each ring has a buffer all the time.
    const MemoryCharges charges = memory_charges(p, m);
    Wide beside = memory.capacity;
    for (const Amount buffer : charges.ring) beside -= buffer;
    if (exceeds(charges.live, beside)) return true;
  }
  std::vector<Amount> registers;
  for (const Op& op : p.ops) registers.push_back(op.registers);
  Wide all = 0;
  for (const WarpSlot& slot : p.warps) all += slot.registers;
  return exceeds(registers, all);
}

// On slot w nobody executes in the cycle in which another op of it is issued that waits, so that
// the whole of each unit is taken from its ops then.
bool waits_and_units_exceed(const Problem& p, const Forced& forced, int w,
                            const std::vector<Wide>& heads, const std::vector<Wide>& tails,
                            Cycle length) {
  for (int f = 0; f < static_cast<int>(p.units.size()); ++f) {
    const Amount capacity = p.units[at(f)].capacity;
    std::vector<Inside> asked;
    for (std::size_t v = 0; v < p.ops.size(); ++v) {
      if (forced.slots[v] != std::vector{w} || p.ops[v].cycles == 0) continue;
      const Wide first = heads[v], last = length - tails[v];
      if (forced.waits[v]) asked.push_back({first, last + 1, capacity});
      for (const Reservation& r : p.ops[v].reservations) {
        if (r.unit != f) continue;
        // (Its own first cycle is among those.)
        const Cycle own = forced.waits[v] && r.offset == 0 ? 1 : 0;
        asked.push_back({first + r.offset + own, last + r.offset + r.length,
                         Wide{r.amount} * (r.length - own)});
      }
    }
    if (window_exceeded(std::move(asked), capacity)) return true;
  }
  return false;
}

// Is a path, or what asks for a unit or a slot between the least starts and the latest ends, too
// long?
bool between_exceeds(const Problem& p, const Forced& forced, const std::vector<Wide>& heads,
                     const std::vector<Wide>& tails, Cycle length) {
  const std::size_t ops = p.ops.size();
  for (std::size_t v = 0; v < ops; ++v)
    if (heads[v] + tails[v] > length) return true;
  for (int f = 0; f < static_cast<int>(p.units.size()); ++f) {
    std::vector<Inside> uses;
    std::vector<Amount> amounts;
    for (std::size_t v = 0; v < ops; ++v)
      for (const Reservation& r : p.ops[v].reservations)
        if (r.unit == f) {
          uses.push_back({heads[v] + r.offset, length - tails[v] + r.offset + r.length, r.length});
          amounts.push_back(r.amount);
        }
    std::vector<BinWeights> all = weights_in(amounts, p.units[at(f)].capacity);
    if (uses.size() > kMostWeighed) all.resize(1);  // (Each has their square.)
    for (const BinWeights& weights : all) {
      std::vector<Inside> weighed = uses;
      for (std::size_t i = 0; i < uses.size(); ++i) weighed[i].area *= weights.of[i];
      if (window_exceeded(std::move(weighed), weights.most)) return true;
    }
  }
  // Of two ops that wait on one slot, neither is issued while the other executes.
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w) {
    std::vector<Inside> waiters;
    for (std::size_t v = 0; v < ops; ++v)
      if (const Cycle cycles = p.ops[v].cycles;
          cycles > 0 && forced.waits[v] && forced.slots[v] == std::vector{w})
        waiters.push_back({heads[v], length - tails[v] + cycles, cycles});
    if (window_exceeded(std::move(waiters), 1)) return true;
    if (waits_and_units_exceed(p, forced, w, heads, tails, length)) return true;
  }
  return false;
}

// From the start of an op to that of a later one that is like it, in one iteration, at least.
Wide kept_apart(const Problem& p, const Forced& forced, int v) {
  const Op& op = p.ops[at(v)];
  Wide cycles = forced.waits[at(v)] && forced.slots[at(v)].size() == 1 ? op.cycles : 0;
  for (const Reservation& r : op.reservations)
    if (2 * Wide{r.amount} > p.units[at(r.unit)].capacity)
      cycles = std::max<Wide>(cycles, r.length);
  return cycles;
}

// Ops that exchanges of neighbours bring into any order start in one, in some schedule of each I
// and L that has any. Is there no such schedule?
bool copies_exceed(const Problem& p, const Forced& forced, Cycle ii, Cycle length) {
  const std::vector<int> swap = exchangeable_ops(p);
  int some = 0;
  while (at(some) < swap.size() && swap[at(some)] == some) ++some;
  if (at(some) >= swap.size()) return false;
  const std::vector<std::vector<int>> swaps = exchanges_from(p, swap, some);
  for (int v = some; v < static_cast<int>(p.ops.size()); ++v) {
    const std::vector<int> chain = exchange_chain(p, swaps, v);
    if (chain.empty()) continue;
    Problem sorted = p;
    Forced with = forced;
    for (std::size_t k = 1; k < chain.size(); ++k) {
      sorted.edges.push_back({chain[k - 1], chain[k], 0, 0, false, 0, std::nullopt});
      with.delay.push_back(static_cast<Cycle>(kept_apart(p, forced, v)));
    }
    const auto heads = earliest(sorted, with, ii), tails = remaining(sorted, with, ii);
    if (!heads || !tails || between_exceeds(p, forced, *heads, *tails, length)) return true;
  }
  return false;
}

}  // namespace

bool interval_counted_out(const Problem& problem, Cycle ii) {
  assert(ii >= 1 && accepted(problem));
  const Forced forced(problem);
  return ii < problem.interval.least || units_exceeded(problem, ii) ||
         verify_channels(problem, ii) || !earliest(problem, forced, ii) ||
         lifetimes_exceeded(problem, forced, ii) || gaps_exceeded(problem, forced, ii) ||
         packing_exceeded(problem, forced, ii) ||
         (latest_pinned_cycle(problem) > 0 && pins_exclude(problem, forced, ii));
}

bool length_counted_out(const Problem& problem, Cycle ii, Cycle length) {
  assert(ii >= 1 && accepted(problem));
  const Forced forced(problem);
  const auto heads = earliest(problem, forced, ii), tails = remaining(problem, forced, ii);
  if (!heads || !tails) return true;
  return between_exceeds(problem, forced, *heads, *tails, length) ||
         starts_exclude(problem, forced, ii, length) ||
         copies_exceed(problem, forced, ii, length) ||
         slot_line_exceeds(problem, forced, *heads, *tails, length) ||
         fed_units_exceed(problem, forced, ii, *heads, *tails, length) ||
         windows_shut(problem, forced, ii, *heads, *tails, length);
}

std::int64_t counted_goal(const Problem& problem, const GoalMeasure& goal) {
  const auto used = [&](int unit) {
    for (const Op& op : problem.ops)
      for (const Reservation& r : op.reservations)
        if (r.unit == unit) return true;
    return false;
  };
  const auto first_slot = [&] {
    const std::vector<int> slots = Forced(problem).slots[at(goal.index)];
    return slots.empty() ? 0 : slots.front();
  };
  const auto held = [&] {
    std::vector<std::int64_t> longest(problem.ops.size(), 0);
    for (const Edge& e : problem.edges)
      if (e.delay + e.hold > longest[at(e.from)]) longest[at(e.from)] = e.delay + e.hold;
    std::int64_t sum = 0;
    for (const std::int64_t cycles : longest) sum += cycles;
    return sum;
  };
  switch (goal.kind->least_by) {
    case LeastGoal::zero: break;
    case LeastGoal::parts: {
      std::int64_t sum = 0;
      for (const auto& [kind, index, weight] : goal.parts)
        sum += weight * counted_goal(problem, {kind, index});
      return sum;
    }
    case LeastGoal::op_on_slot: return problem.ops.empty() ? 0 : 1;
    case LeastGoal::first_slot: return first_slot();
    case LeastGoal::loads:
      for (std::size_t v = 0; v < problem.ops.size(); ++v)
        if (problem.ops[v].fills_ring() && (goal.index < 0 || at(goal.index) == v)) return 1;
      break;
    case LeastGoal::used_units: {
      std::int64_t units = 0;
      for (int f = 0; f < static_cast<int>(problem.units.size()); ++f)
        if (goal.index < 0 || goal.index == f) units += used(f) ? 1 : 0;
      return units;
    }
    case LeastGoal::lifetimes: return held();
  }
  return 0;
}

}  // namespace twill
