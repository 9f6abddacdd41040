// The packing bound, derived from rules 1, 3, 4, 6 and 7.
//
// Lifetimes. Let e = (u, v) be an edge and P a path from u to v (for u = v it may be empty) whose
// delays, with the spills that every schedule pays, sum to D and whose distances sum to K. Rules 1
// and 7 give M(v) - M(u) >= D - K I, and by rule 3 u's result is live until M(v) + distance(e) I +
// hold(e). So it lives for at least
//
//   l(u) = (D + hold(e)) + (distance(e) - K) I,
//
// at every I, whatever e and P are; those that are longest at some I are taken. The first part is
// never negative.
//
// Weights. Let f map amounts to numbers >= 0 such that amounts whose sum is at most the
// capacity C have an f-sum of at most F (a dual feasible function). At every residue the f-sum of
// the live copies on a slot is at most F, and over all residues u's copies count l(u) times. With
// an own f for each of several slots, and for u the least f(u) of the slots that can hold it,
//
//   sum of f(u) l(u) <= I x sum of F,
//
// over all u that can be on none but these slots. With l(u) = w(u) + t(u) I this is W + T I <= F I
// with W >= 0: no I has a schedule if T >= F and W > 0 (or T > F), and else none below W / (F - T).
// This line is a bound for every I, so that the longest paths are looked for anew at each I that
// it gives, until nothing is gained (Newton's method on a convex function).
//
// The functions and their proofs are those of dual_feasible.hpp.
#include "graph/bounds/packing.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <utility>

#include "graph/accepted.hpp"
#include "graph/bounds/dual_feasible.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/index.hpp"
#include "graph/loop.hpp"
#include "graph/memory_charges.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

constexpr int kLargestPart = 8;             // "part k" up to this k
constexpr std::size_t kHalves = 24;         // so many "half k", by the amounts that there are
constexpr std::size_t kPools = 32;          // sets of slots
constexpr int kRounds = 64;                 // of Newton's method
constexpr int kPasses = 64;                 // of a search for longest paths
constexpr std::int64_t kArcs = 20'000'000;  // of all searches for longest paths of a round
constexpr int kShownAmounts = 6;
constexpr Wide kMostSum = Wide{1} << 60;  // a bound of more is left out; no sum leaves 128 bits

/// cycles + turns x I.
struct Life {
  Cycle cycles = 0, turns = 0;
  Wide at(Cycle ii) const { return cycles + Wide{turns} * ii; }
};

/// What is longest at one I, of every op.
class Lifetimes {
 public:
  explicit Lifetimes(const Problem& problem)
      : p_(problem), delays_(forced_delays(problem)), out_(problem.ops.size()) {
    std::vector<std::vector<int>> from(problem.ops.size());
    for (std::size_t e = 0; e < problem.edges.size(); ++e)
      from[twill::at(problem.edges[e].from)].push_back(static_cast<int>(e));
    // Paths of distance 0 settle in one pass.
    for (const int v : topological_order(problem))
      arcs_.insert(arcs_.end(), from[twill::at(v)].begin(), from[twill::at(v)].end());
    out_ = std::move(from);
    std::int64_t sources = 0;
    for (const auto& edges : out_) sources += edges.size() > 1;
    paths_ = sources * static_cast<std::int64_t>(arcs_.size()) <= kArcs;
  }

  std::vector<Life> at(Cycle ii) const {
    std::vector<Life> life(out_.size());
    for (int u = 0; u < static_cast<int>(out_.size()); ++u) life[twill::at(u)] = of(u, ii);
    return life;
  }

 private:
  struct Reached {
    bool reached = false;
    Cycle delay = 0, distance = 0;
    Wide at(Cycle ii) const { return delay - Wide{distance} * ii; }
  };

  Life of(int u, Cycle ii) const {
    const std::vector<int>& uses = out_[twill::at(u)];
    Life longest;
    const auto take = [&](Cycle cycles, Cycle turns) {
      if (const Life life{cycles, turns}; life.at(ii) > longest.at(ii)) longest = life;
    };
    for (const int e : uses) {
      const Edge& edge = p_.edges[twill::at(e)];
      take(delays_[twill::at(e)] + edge.hold, 0);
      if (edge.to == u) take(edge.hold, edge.distance);
    }
    if (uses.size() < 2 || !paths_) return longest;  // the edge itself is the longest path
    const std::vector<Reached> reached = reach(u, ii);
    for (const int e : uses) {
      const Edge& edge = p_.edges[twill::at(e)];
      const Reached& to = reached[twill::at(edge.to)];
      if (to.reached) take(to.delay + edge.hold, edge.distance - to.distance);
    }
    return longest;
  }

  // Longest paths at `ii`; shorter ones, should passes not be enough.
  std::vector<Reached> reach(int u, Cycle ii) const {
    std::vector<Reached> best(out_.size());
    best[twill::at(u)].reached = true;
    bool changed = true;
    for (int pass = 0; changed && pass < kPasses; ++pass) {
      changed = false;
      for (const int e : arcs_) {
        const Edge& edge = p_.edges[twill::at(e)];
        const Reached& from = best[twill::at(edge.from)];
        if (!from.reached) continue;
        const Reached next{true, from.delay + delays_[twill::at(e)], from.distance + edge.distance};
        Reached& to = best[twill::at(edge.to)];
        if (to.reached && next.at(ii) <= to.at(ii)) continue;
        to = next;
        changed = true;
      }
    }
    return best;
  }

  const Problem& p_;
  std::vector<Cycle> delays_;
  std::vector<std::vector<int>> out_;  // edges, by their source
  std::vector<int> arcs_;              // edges
  bool paths_ = true;
};

/// Slots, or a memory, with the ops whose results can be nowhere else.
struct Pool {
  std::string label;
  std::vector<Amount> capacities;
  struct Item {
    int op = 0;
    Amount amount = 0;
    std::vector<Amount> capacities;  ///< distinct ones that it may be held in, each >= amount
  };
  std::vector<Item> items;
};

std::vector<Pool> register_pools(const Problem& problem) {
  std::vector<std::vector<int>> slots(problem.ops.size());  // that can hold it
  std::set<std::vector<int>> sets;
  std::vector<int> all;
  for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w)
    if (problem.warps[at(w)].registers > 0) all.push_back(w);
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
    const Amount amount = problem.ops[at(v)].registers;
    if (amount <= 0) continue;
    for (const int w : allowed_slots(problem, v))
      if (problem.warps[at(w)].registers >= amount) slots[at(v)].push_back(w);
    if (!slots[at(v)].empty() && sets.size() < kPools) sets.insert(slots[at(v)]);
  }
  if (!all.empty()) sets.insert(all);
  std::vector<Pool> pools;
  for (const std::vector<int>& set : sets) {
    Pool pool{"registers", {}, {}};
    for (std::size_t i = 0; i < set.size(); ++i) {
      const WarpSlot& slot = problem.warps[at(set[i])];
      pool.capacities.push_back(slot.registers);
      if (set.size() <= kShownAmounts) pool.label += (i == 0 ? " of " : ", ") + slot.name;
    }
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
      const std::vector<int>& own = slots[at(v)];
      if (own.empty() || !std::includes(set.begin(), set.end(), own.begin(), own.end())) continue;
      std::set<Amount> capacities;
      for (const int w : own) capacities.insert(problem.warps[at(w)].registers);
      pool.items.push_back(
          {v, problem.ops[at(v)].registers, {capacities.begin(), capacities.end()}});
    }
    pools.push_back(std::move(pool));
  }
  return pools;
}

void add_memory_pools(const Problem& problem, std::vector<Pool>& pools) {
  const auto add = [&](const std::string& label, Amount capacity,
                       const std::vector<Amount>& amounts) {
    if (capacity <= 0) return;
    Pool pool{label, {capacity}, {}};
    for (int v = 0; v < static_cast<int>(amounts.size()); ++v)
      if (const Amount amount = amounts[at(v)]; amount > 0 && amount <= capacity)
        pool.items.push_back({v, amount, {capacity}});
    if (!pool.items.empty()) pools.push_back(std::move(pool));
  };
  for (int m = 0; m < static_cast<int>(problem.memories.size()); ++m) {
    const Memory& memory = problem.memories[at(m)];
    if (memory.rings) {
      // Each ring has a buffer all the time.
      const MemoryCharges charges = memory_charges(problem, m);
      add(memory.name + " beside rings", memory.capacity - charges.least_rings(), charges.live);
      continue;
    }
    std::vector<Amount> amounts(problem.ops.size(), 0);
    for (std::size_t v = 0; v < amounts.size(); ++v)
      for (const Footprint& f : problem.ops[v].footprints)
        if (f.memory == m) amounts[v] += f.amount;
    add(memory.name, memory.capacity, amounts);
  }
}

std::vector<DualFeasible> weights_of(const Pool& pool) {
  std::vector<DualFeasible> all{{DualFeasible::amount, 1}};
  for (Amount k = 1; k <= kLargestPart; ++k) all.push_back({DualFeasible::part, k});
  std::set<Amount> ends;
  for (const Pool::Item& item : pool.items)
    for (const Amount capacity : item.capacities)
      for (const Amount k : {item.amount, capacity - item.amount, capacity - item.amount + 1})
        if (k > 0 && 2 * k <= capacity && ends.size() < kHalves) ends.insert(k);
  for (const Amount k : ends) all.push_back({DualFeasible::half, k});
  return all;
}

std::string wide_text(Wide value) {
  return std::to_string(static_cast<Cycle>(value));
}

std::string words(const Pool& pool, const DualFeasible& weights,
                  const std::map<Amount, Wide>& weigh, Wide cycles, Wide turns, Wide most) {
  std::string text = pool.label + ": least lifetimes along paths, times ";
  if (weights.shape == DualFeasible::amount) {
    text += "the amount";
  } else {
    text += "a weight (";
    int shown = 0;
    for (const auto& [amount, weight] : weigh) {
      if (++shown > kShownAmounts) break;
      text += (shown > 1 ? ", " : "") + std::to_string(amount) + " weighs " + wide_text(weight);
    }
    if (weigh.size() > kShownAmounts) text += ", ...";
    text += ") of which no more fits";
  }
  text += ", are " + wide_text(cycles);
  if (turns != 0)
    text += (turns > 0 ? " + " : " - ") + wide_text(turns > 0 ? turns : -turns) + " x I";
  return text + " of " + wide_text(most) + " x I";
}

}  // namespace

std::optional<Bound> packing_bound(const Problem& problem, Cycle low) {
  assert(low >= 1 && consistent(problem));
  std::vector<Pool> pools = register_pools(problem);
  add_memory_pools(problem, pools);
  std::erase_if(pools, [](const Pool& pool) { return pool.items.empty(); });
  if (pools.empty()) return std::nullopt;
  const Lifetimes lifetimes(problem);
  Bound best{low, "lifetimes", ""};
  const Cycle never = serial_ii(problem) + 1;
  for (int round = 0; round < kRounds; ++round) {
    const Cycle ii = best.value;
    if (ii >= never) break;
    const std::vector<Life> life = lifetimes.at(ii);
    for (const Pool& pool : pools) {
      for (const DualFeasible& weights : weights_of(pool)) {
        Wide cycles = 0, turns = 0, most = 0;
        std::map<Amount, Wide> weigh;
        for (const Amount capacity : pool.capacities) most += weights.most(capacity);
        for (const Pool::Item& item : pool.items) {
          const Life& own = life[at(item.op)];
          if (own.at(ii) <= 0) continue;
          Wide weight = weights.weight(item.amount, item.capacities.front());
          for (const Amount capacity : item.capacities)
            weight = std::min(weight, weights.weight(item.amount, capacity));
          cycles += weight * own.cycles;
          turns += weight * own.turns;
          weigh[item.amount] = weight;
        }
        if (cycles + turns * ii <= most * ii || cycles > kMostSum || most > kMostSum) continue;
        Cycle least = never;
        if (turns < most) {
          const Wide quotient = (cycles + most - turns - 1) / (most - turns);
          if (quotient < never) least = static_cast<Cycle>(quotient);
        }
        if (least <= best.value) continue;
        best.value = least;
        best.text = words(pool, weights, weigh, cycles, turns, most) +
                    (turns < most ? ": at least " + std::to_string(least) + " cycles"
                                  : ": too much at any I");
      }
    }
    if (best.value == ii) break;
  }
  if (best.value == low) return std::nullopt;
  return best;
}

}  // namespace twill
