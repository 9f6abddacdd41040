// Two segments [a, a + l) and [b, b + m), a <= b, meet modulo I if and only if for some t >= 0
// (t >= 1 for a segment and itself) -m < b - a - t I < l. Of the t with b - a - t I > -m the
// largest leaves the least; while that is below l they meet, at every I with the same t, and the
// first I without it is ceil((b - a + m) / t). So a range of I is passed in one step, and for a
// distance b - a there are at most 2 sqrt(b - a) ranges.
#include "graph/bounds/next_interval.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "graph/accepted.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/start_arcs.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

struct FixedSegment {
  int unit = 0;
  Cycle begin = 0, length = 0;
  Amount amount = 0;
};

// Segments at fixed distances: of one op, or of all ops that are pinned to cycles.
std::vector<std::vector<FixedSegment>> groups(const Problem& problem) {
  std::vector<Cycle> pinned(problem.ops.size(), -1);
  for (const Pin& pin : problem.pins)
    if (pin.kind == Pin::at_cycle) pinned[at(pin.op)] = pin.cycle;
  std::vector<std::vector<FixedSegment>> all(1);
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    std::vector<FixedSegment> own;
    for (const Reservation& r : problem.ops[v].reservations)
      own.push_back({r.unit, std::max<Cycle>(0, pinned[v]) + r.offset, r.length, r.amount});
    if (pinned[v] >= 0)
      all.front().insert(all.front().end(), own.begin(), own.end());
    else if (own.size() > 1)
      all.push_back(std::move(own));
  }
  for (std::vector<FixedSegment>& group : all)
    std::stable_sort(group.begin(), group.end(), [](const FixedSegment& a, const FixedSegment& b) {
      return a.unit != b.unit ? a.unit < b.unit : a.begin < b.begin;
    });
  return all;
}

// The first I above `ii` at which the two do not meet for the reason that they do at `ii`; `ii`
// itself where they do not meet, last + 1 where they do at any I.
Cycle apart(const FixedSegment& a, const FixedSegment& b, bool same, Cycle ii, Cycle last) {
  const Cycle distance = b.begin - a.begin, turns = (distance + b.length - 1) / ii;
  if (distance - turns * ii >= a.length || (same && turns == 0)) return ii;
  return turns == 0 ? last + 1 : (distance + b.length - 1) / turns + 1;
}

Cycle next_of_group(const Problem& problem, const std::vector<FixedSegment>& group, Cycle ii,
                    Cycle last) {
  for (std::size_t i = 0; i < group.size(); ++i)
    for (std::size_t j = i; j < group.size() && group[j].unit == group[i].unit; ++j) {
      if (group[i].amount + group[j].amount <= problem.units[at(group[i].unit)].capacity) continue;
      const Cycle next = apart(group[i], group[j], i == j, ii, last);
      if (next > ii) return next;
    }
  return ii;
}

}  // namespace

Cycle next_interval(const Problem& problem, Cycle ii, Cycle last) {
  assert(ii >= 1 && consistent(problem));
  const StartArcs arcs(problem);
  const std::vector<std::vector<FixedSegment>> all = groups(problem);
  for (bool passed = true; passed && ii <= last;) {
    const Cycle before = ii;
    ii = arcs.least_interval(ii, last);
    for (const std::vector<FixedSegment>& group : all)
      if (ii <= last) ii = next_of_group(problem, group, ii, last);
    passed = ii > before;
  }
  return std::min(ii, last + 1);
}

}  // namespace twill
