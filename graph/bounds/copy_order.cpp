// Why there is one. The exchanges of neighbours in a chain (exchange_chain()) bring its ops into
// any order, and each turns a schedule into another one with the same I and L. So take a schedule
// and sort the chain by starts. Where two of its ops never overlap within an iteration, the later
// one then starts no sooner than the earlier one ends: both reserve more than half of a unit at the
// same offset, or both wait on the only slot that they can be on (rule 8).
#include "graph/bounds/copy_order.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "graph/accepted.hpp"
#include "graph/bounds/automorphism.hpp"
#include "graph/bounds/slot_bounds.hpp"
#include "graph/index.hpp"
#include "graph/schedule.hpp"

namespace twill {
namespace {

constexpr std::size_t kMostOrdered = 1'000;  // ops of a loop

// For how long from its start does an op keep off another one that is like it?
Cycle exclusive_cycles(const Problem& problem, int v) {
  const Op& op = problem.ops[at(v)];
  Cycle longest = 0;
  for (const Reservation& r : op.reservations)
    if (r.amount > problem.units[at(r.unit)].capacity / 2) longest = std::max(longest, r.length);
  if (op.cycles > longest && allowed_slots(problem, v).size() == 1 && always_waits(problem, v))
    longest = op.cycles;
  return longest;
}

}  // namespace

std::vector<CopyOrder> copy_orders(const Problem& problem) {
  assert(consistent(problem));
  const int ops = static_cast<int>(problem.ops.size());
  if (problem.ops.size() > kMostOrdered) return {};
  std::vector<int> first = exchangeable_ops(problem);
  if (first.empty()) return {};
  int moved = 0;
  while (first[at(moved)] == moved) ++moved;
  const std::vector<std::vector<int>> exchanges = exchanges_from(problem, std::move(first), moved);
  std::vector<CopyOrder> orders;
  for (int v = moved; v < ops; ++v) {
    if (exchanges.front()[at(v)] <= v) continue;
    std::vector<int> chain = exchange_chain(problem, exchanges, v);
    if (!chain.empty()) orders.push_back({std::move(chain), exclusive_cycles(problem, v)});
  }
  return orders;
}

}  // namespace twill
