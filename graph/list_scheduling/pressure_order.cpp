// An order in which few results wait for their uses. Nothing is placed: time goes by with the
// busiest unit, whose ops follow each other, and a result is held from its place in the order to
// that of its last use. From the order by heights on, an op moves anywhere between its producers
// and its consumers, and stays there unless that is worse by more than a threshold, which falls to
// nothing (threshold accepting: Dueck and Scheuer, J. Comput. Phys. 90, 1990). Loops of 60 to 150
// ops hold less than two thirds then, at the most and in sum (list_moves_test.cpp).
#include <algorithm>
#include <vector>

#include "graph/index.hpp"
#include "graph/list_scheduling/list_order.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

constexpr Amount kWhole = 1'000;  // all registers, or all of a memory
constexpr Amount kTarget = 500;   // what is above it counts
constexpr Amount kAbove = 16;     // so many times more
constexpr Wide kHot = 1'000;      // the first threshold: one in so many
constexpr int kMovesAnOp = 300, kMostMoves = 60'000;

class PressureOrder {
 public:
  explicit PressureOrder(const Problem& problem)
      : order_(height_order(problem)),
        position_(order_.size()),
        amount_(order_.size(), 0),
        time_(order_.size(), 1),
        change_(order_.size() + 1),
        successors_(order_.size()),
        predecessors_(order_.size()) {
    for (const Edge& e : problem.edges) {
      if (e.distance != 0) continue;
      successors_[at(e.from)].push_back(e.to);
      predecessors_[at(e.to)].push_back(e.from);
    }
    Amount registers = 0;
    for (const WarpSlot& slot : problem.warps) registers += slot.registers;
    for (std::size_t v = 0; v < amount_.size(); ++v) {
      if (registers > 0) amount_[v] += problem.ops[v].registers * kWhole / registers;
      for (const Footprint& f : problem.ops[v].footprints)
        if (const Amount capacity = problem.memories[at(f.memory)].capacity; capacity > 0)
          amount_[v] += f.amount * kWhole / capacity;
    }
    const BusiestUnit busiest = busiest_unit(problem);
    for (const int v : busiest.users)
      for (const Reservation& r : problem.ops[at(v)].reservations)
        if (r.unit == busiest.unit) time_[at(v)] = std::max(time_[at(v)], r.length);
  }

  std::vector<int> run(SplitMix64& random) {
    Wide now = cost();
    const Wide hot = now / kHot;
    const int moves = std::min(kMostMoves, kMovesAnOp * static_cast<int>(order_.size()));
    for (int left = moves; left > 0; --left) {
      const std::size_t v = random.below(order_.size());
      int low = 0, high = static_cast<int>(order_.size()) - 1;
      for (const int u : predecessors_[v]) low = std::max(low, position_[at(u)] + 1);
      for (const int u : successors_[v]) high = std::min(high, position_[at(u)] - 1);
      if (low >= high) continue;
      const int from = position_[v], to = static_cast<int>(random.range(low, high));
      if (from == to) continue;
      move(from, to);
      if (const Wide next = cost(); next <= now + hot * left / moves) {
        now = next;
      } else {
        move(to, from);
        set_positions();
      }
    }
    return order_;
  }

 private:
  void set_positions() {
    for (std::size_t i = 0; i < order_.size(); ++i) position_[at(order_[i])] = static_cast<int>(i);
  }

  // What is held, over time; also sets the positions.
  Wide cost() {
    set_positions();
    std::fill(change_.begin(), change_.end(), 0);
    for (std::size_t v = 0; v < order_.size(); ++v) {
      int last = -1;
      for (const int u : successors_[v]) last = std::max(last, position_[at(u)]);
      if (last < 0) continue;
      change_[at(position_[v])] += amount_[v];
      change_[at(last) + 1] -= amount_[v];
    }
    Wide sum = 0;
    Amount held = 0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      held += change_[i];
      sum += Wide{std::max<Amount>(0, held - kTarget) * kAbove + held} * time_[at(order_[i])];
    }
    return sum;
  }

  void move(int from, int to) {
    const auto begin = order_.begin();
    if (from < to)
      std::rotate(begin + from, begin + from + 1, begin + to + 1);
    else
      std::rotate(begin + to, begin + from, begin + from + 1);
  }

  std::vector<int> order_, position_;
  std::vector<Amount> amount_;  // of all registers and memories
  std::vector<Cycle> time_;
  std::vector<Amount> change_;
  std::vector<std::vector<int>> successors_, predecessors_;
};

}  // namespace

BusiestUnit busiest_unit(const Problem& problem) {
  BusiestUnit busiest;
  Wide most = 0;
  for (int f = 0; f < static_cast<int>(problem.units.size()); ++f) {
    Wide work = 0;
    std::vector<int> users;
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
      const Wide before = work;
      for (const Reservation& r : problem.ops[at(v)].reservations)
        if (r.unit == f) work += Wide{r.length} * r.amount;
      if (work > before) users.push_back(v);
    }
    work /= problem.units[at(f)].capacity;
    if (work > most) {
      most = work;
      busiest = {f, std::move(users)};
    }
  }
  return busiest;
}

std::vector<int> pressure_order(const Problem& problem, SplitMix64& random) {
  return PressureOrder(problem).run(random);
}

}  // namespace twill
