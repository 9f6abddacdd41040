// Loops on one slot, some of whose ops wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/index.hpp"
#include "graph/problem.hpp"
#include "tests/support/random_loop.hpp"

namespace twill::test {

/// Those that wait do so for an op of no cycles.
struct OneSlot {
  Problem problem;
  std::vector<int> waiters, others;
  bool idle_waiter = false;  ///< does an op of no cycles wait, too?

  OneSlot() {
    problem.name = "one slot";
    problem.warps = {{"all", 1, 100, false}};
  }
  Op& add(Cycle cycles, bool waits) {
    Op& op = problem.ops.emplace_back();
    op.id = "v" + std::to_string(problem.ops.size());
    op.cycles = cycles;
    (waits ? waiters : others).push_back(static_cast<int>(problem.ops.size()) - 1);
    return op;
  }
  void edge(int from, int to, Cycle delay, bool blocking) {
    problem.edges.push_back({from, to, delay, 0, blocking, 0, std::nullopt});
  }
  /// The last ops: what is waited for, and the waiter of no cycles where there is one.
  void wait() {
    const int awaited = static_cast<int>(problem.ops.size());
    problem.ops.emplace_back().id = "awaited";
    for (const int v : waiters) edge(awaited, v, 0, true);
    if (!idle_waiter) return;
    problem.ops.emplace_back().id = "idle";
    edge(awaited, awaited + 1, 0, true);
  }
};

/// At most five ops with cycles, on one or two units; `chained` with delays between them.
inline OneSlot random_slot(std::uint64_t seed, bool chained) {
  Random random(seed);
  OneSlot slot;
  const int units = static_cast<int>(random.range(1, 2));
  for (int f = 0; f < units; ++f)
    slot.problem.units.push_back({"U" + std::to_string(f), random.percent(25) ? 2 : 1});
  const auto waiters = random.range(1, 3), others = random.range(1, 5 - waiters);
  for (std::int64_t k = 0; k < waiters + others; ++k) {
    const bool waits = k < waiters;
    Op& op = slot.add(random.range(1, waits ? 4 : 3), waits);
    const int unit = static_cast<int>(random.range(0, units - 1));
    const Cycle offset = random.percent(20) ? random.range(0, op.cycles - 1) : 0;
    const Cycle length = random.percent(80) ? op.cycles - offset : 1;
    const Amount most = slot.problem.units[at(unit)].capacity;
    if (!waits || random.percent(70))
      op.reservations = {{unit, offset, length, random.range(1, most)}};
  }
  if (chained)
    for (int v = 1; v < static_cast<int>(slot.problem.ops.size()); ++v)
      if (const int u = static_cast<int>(random.range(0, v - 1)); random.percent(40)) {
        const bool turned = random.percent(30);
        slot.edge(turned ? v : u, turned ? u : v, slot.problem.ops[at(turned ? v : u)].cycles,
                  false);
      }
  slot.idle_waiter = random.percent(25);
  slot.wait();
  return slot;
}

/// Reads that wait, and longer products; with `after_reads` each iteration's come after its reads.
inline OneSlot products(int iterations, const std::vector<Cycle>& reads, int of_each, Cycle product,
                        bool after_reads) {
  OneSlot slot;
  slot.problem.units = {{"SMEM", 1}, {"TC", 1}};
  for (int k = 0; k < iterations; ++k) {
    const int first = static_cast<int>(slot.problem.ops.size());
    for (const Cycle cycles : reads) slot.add(cycles, true).reservations = {{0, 0, cycles, 1}};
    const int last = static_cast<int>(slot.problem.ops.size());
    for (int j = 0; j < of_each; ++j) {
      slot.add(product, false).reservations = {{1, 0, product, 1}};
      for (int v = first; v < last && after_reads; ++v)
        slot.edge(v, last + j, slot.problem.ops[at(v)].cycles, false);
    }
  }
  slot.wait();
  return slot;
}

}  // namespace twill::test
