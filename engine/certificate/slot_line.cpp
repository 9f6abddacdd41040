// The ops of a slot that must lie in a window [from, to), and have cycles. Each that waits begins a
// gap, in whose first cycle it alone executes, up to the next one that waits or to the end of the
// window; what lies before all of them is in no gap. So a unit gives, of capacity x (to - from):
//   - what is used of it,
//   - in a gap that has guests which use it, all of the first cycle in the place of what the op
//     that waits uses in it,
//   - a gap without such guests as a whole, which is as long as the op that waits.
// There are no more gaps with guests than guests. Others that wait need not lie in the window. They
// do not overlap, so that only so many can start before it, and only so many behind it; each of the
// rest starts in a cycle of the window, which it takes from the unit as well.
#include "engine/certificate/slot_line.hpp"

#include <algorithm>
#include <set>

#include "graph/index.hpp"

namespace twill {
namespace {

// On more crowded slots nothing rests on this.
constexpr std::size_t kMostInLine = 200;

struct InLine {
  Wide from = 0, to = 0;  // it lies there
  bool waits = false;
  Wide later = 0;  // of the unit, by those that wait after their first cycle
  Wide gap = 0;    // cycles
};

// Of those that can start before `cycle`, how many can all do so?
std::size_t starting_before(const std::vector<InLine>& line, Wide cycle) {
  std::multiset<Wide> lengths;
  Wide start = cycle;
  for (const InLine& one : line) {
    if (!one.waits || one.from >= cycle) continue;
    start = std::min(start, one.from);
    lengths.insert(one.gap);
  }
  std::size_t count = 0;
  for (auto it = lengths.begin(); it != lengths.end() && start < cycle; start += *it++) ++count;
  return count;
}

// Of those that can end behind `cycle`, how many can all start there?
std::size_t starting_from(const std::vector<InLine>& line, Wide cycle) {
  std::multiset<Wide> lengths;
  Wide room = 0;
  for (const InLine& one : line) {
    if (!one.waits || one.to <= cycle) continue;
    room = std::max(room, one.to - cycle);
    lengths.insert(one.gap);
  }
  std::size_t count = 0;
  for (const Wide length : lengths) {
    room -= length;
    if (room >= 0) ++count;
  }
  return count;
}

bool windows_exceeded(const std::vector<InLine>& by_end, Wide capacity) {
  std::set<Wide> begins;
  std::size_t all_waits = 0;
  std::vector<std::size_t> behind;
  for (const InLine& one : by_end) {
    begins.insert(one.from);
    all_waits += one.waits ? 1 : 0;
    behind.push_back(starting_from(by_end, one.to));
  }
  for (const Wide begin : begins) {
    const std::size_t before = starting_before(by_end, begin);
    Wide used = 0;
    std::size_t guests = 0;
    std::vector<Wide> least{0};  // by all gaps so far, of which [k] have guests
    for (std::size_t i = 0; i < by_end.size(); ++i) {
      const InLine& one = by_end[i];
      if (one.from < begin) continue;
      if (one.waits) {
        const Wide with = capacity + one.later, without = std::max(with, capacity * one.gap);
        least.push_back(least.back() + with);
        for (std::size_t k = least.size() - 2; k > 0; --k)
          least[k] = std::min(least[k] + without, least[k - 1] + with);
        least[0] += without;
      } else if (one.later > 0) {
        used += one.later;
        ++guests;
      }
      const auto end =
          least.begin() + static_cast<std::ptrdiff_t>(std::min(guests + 1, least.size()));
      const std::size_t inside = least.size() - 1, elsewhere = inside + before + behind[i];
      const Wide starts = elsewhere < all_waits ? static_cast<Wide>(all_waits - elsewhere) : 0;
      if (used + *std::min_element(least.begin(), end) > capacity * (one.to - begin - starts))
        return true;
    }
  }
  return false;
}

}  // namespace

bool slot_line_exceeds(const Problem& problem, const Forced& forced, const std::vector<Wide>& heads,
                       const std::vector<Wide>& tails, Cycle length) {
  for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w) {
    if (problem.warps[at(w)].variable_latency) continue;
    std::vector<std::size_t> own;
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      if (problem.ops[v].cycles > 0 && forced.slots[v] == std::vector{w}) own.push_back(v);
    if (own.size() > kMostInLine) continue;
    for (int f = 0; f < static_cast<int>(problem.units.size()); ++f) {
      std::vector<InLine> line;
      for (const std::size_t v : own) {
        const Op& op = problem.ops[v];
        InLine& one = line.emplace_back();
        one = {heads[v], length - tails[v] + op.cycles, forced.waits[v] != 0, 0, op.cycles};
        for (const Reservation& r : op.reservations)
          if (r.unit == f)
            one.later += Wide{r.amount} * (r.length - (one.waits && r.offset == 0 ? 1 : 0));
      }
      std::sort(line.begin(), line.end(),
                [](const InLine& a, const InLine& b) { return a.to < b.to; });
      if (windows_exceeded(line, problem.units[at(f)].capacity)) return true;
    }
  }
  return false;
}

}  // namespace twill
