// Why it holds, with (1) to (4) of slot_bounds.cpp. Take a unit f with cap(f) instances.
//
// A gap in which another op uses f is at least 1 + (area in it) / cap(f), by (4) with heads and
// tails of 0 or more: the area of the others' segments of f and, where there are two or more gaps,
// of what the waiter that begins it uses of f after its first cycle. A gap in which none of the
// others uses f is at least what the waiter alone asks for: by (2) its cycles, and at least 1. (One
// waiter alone does not exclude itself. Its only gap may be shorter.)
//
// So the sum is at least (area of the others) / cap(f), and for each gap one more term: 1 + (area
// of the waiter) / cap(f) where others use f in it, and the whole of the second kind where not. The
// latter is never the smaller one. No more gaps can be of the first kind than there are others that
// use f, and the least sum has that many, those where most is saved.
#include "graph/bounds/slot_shares.hpp"

#include <algorithm>
#include <functional>

#include "graph/index.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

/// Amount x cycles of unit `f` that op `v` uses, its first cycle left out where `after_first`.
Wide area_of(const Problem& problem, int v, int f, bool after_first) {
  Wide area = 0;
  for (const Reservation& r : problem.ops[at(v)].reservations)
    if (r.unit == f) area += Wide{r.amount} * (r.length - (after_first && r.offset == 0 ? 1 : 0));
  return area;
}

}  // namespace

Cycle shared_gaps(const Problem& problem, const std::vector<int>& waiters, bool idle_waiter,
                  const std::vector<int>& others) {
  const std::size_t gaps = waiters.size() + (idle_waiter ? 1 : 0);
  Wide best = 0;
  for (int f = 0; f < static_cast<int>(problem.units.size()); ++f) {
    const Wide capacity = problem.units[at(f)].capacity;
    Wide sum = 0;  // capacity x cycles
    std::size_t users = 0;
    for (const int v : others) {
      const Wide area = area_of(problem, v, f, false);
      sum += area;
      users += area > 0 ? 1 : 0;
    }
    if (users == 0 || gaps == 0) continue;
    std::vector<Wide> saved;  // per gap, where others use f in it
    for (const int v : waiters) {
      const Wide shared = capacity + (gaps > 1 ? area_of(problem, v, f, true) : 0);
      const Wide alone = gaps > 1 ? capacity * problem.ops[at(v)].cycles : 0;
      sum += std::max(alone, shared);
      saved.push_back(std::max<Wide>(0, alone - shared));
    }
    if (idle_waiter) sum += capacity;
    std::sort(saved.begin(), saved.end(), std::greater<>());
    for (std::size_t g = 0; g < std::min(users, saved.size()); ++g) sum -= saved[g];
    best = std::max(best, (sum + capacity - 1) / capacity);
  }
  return static_cast<Cycle>(std::min(best, Wide{kMaxInterval} + 1));
}

}  // namespace twill
