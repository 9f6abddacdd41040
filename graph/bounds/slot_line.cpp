// Why it holds. Fix a schedule, one iteration of it, and a slot q, not the variable-latency one.
// Take any ops that can only be on q and have cycles, and let W be those of them that wait in every
// schedule. Their earliest starts are `a` or later, and `b` cycles or more come after their ends,
// so that all of them execute in [a, L - b).
//
// By rule 8 none of the others executes when one of W starts. So the starts of W are pairwise
// distinct and cut [a, L - b) into a piece before the first of them and a gap behind each. Every op
// lies in one piece or gap, and starts later than the op of W that begins its gap.
//
// Take a unit f. The piece before the first start is at least (area of f in it) / cap(f). A gap in
// which an op that is not in W uses f is at least 1 + (area in it) / cap(f): in its first cycle
// only the op that waits can use f, and its area after that cycle counts. A gap without such an op
// is at least as long as the op that begins it, and no less than 1 + (the area of that op after its
// first cycle) / cap(f). No more gaps have ops that use f than there are such ops. So L - b - a is
// at least (area of all that are not in W) / cap(f) and the gaps' other terms, of which as many
// are of the first kind as there are such ops: those where most is saved.
//
// Other ops that wait on q add a cycle each: that in which they start, where that is in the window.
// Two of them do not overlap. So of those whose earliest starts are below `a` the k-th to start
// does so no sooner than the least of these and the k - 1 shortest of their lengths, and only as
// many as there are k for which that is below `a` start before the window. Behind it, in b cycles,
// no more start than have lengths that together are no longer than b without the least of their
// tails.
//
// (slot_shares.cpp has the same for the circle of I cycles, which has no piece before the first.)
#include "graph/bounds/slot_line.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/accepted.hpp"
#include "graph/bounds/slot_bounds.hpp"
#include "graph/index.hpp"
#include "graph/loop.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

constexpr std::size_t kMostOnSlot = 200;

/// An op on the slot, as a unit sees it.
struct OnLine {
  Cycle head = 0, tail = 0;  ///< cycles of the iteration before its start and after its end
  bool waits = false;
  Cycle cycles = 0;
  Wide area = 0;  ///< instances x cycles; of an op that waits, after its first cycle
};

/// Cycles of ops that wait, and what is before or behind one of them at least.
struct Outside {
  Cycle least = kMaxStart;
  std::vector<Cycle> lengths;

  void add(Cycle distance, Cycle cycles) {
    least = std::min(least, distance);
    lengths.push_back(cycles);
  }
  /// How many can start before cycle `begin` (`ends`: start in the last cycles, `begin` of them)?
  std::size_t most(Cycle begin, bool ends) {
    std::sort(lengths.begin(), lengths.end());
    Wide cycle = least;
    std::size_t count = 0;
    for (const Cycle length : lengths) {
      if (ends ? cycle + length > begin : cycle >= begin) break;
      cycle += length;
      ++count;
    }
    return count;
  }
};

struct Longest {
  Wide value = 0, area = 0;
  std::size_t waits = 0, users = 0, starts = 0;
  Cycle head = 0, tail = 0;
};

/// The largest bound by the ops of `line`, which are sorted by falling tails.
Longest longest_line(const std::vector<OnLine>& line, Wide capacity) {
  Longest longest;
  std::size_t waits = 0;
  std::vector<std::size_t> behind;  // per op, those that can start in as many cycles as its tail
  for (const OnLine& op : line) {
    waits += op.waits ? 1 : 0;
    Outside outside;
    for (const OnLine& other : line)
      if (other.waits && other.tail < op.tail) outside.add(other.tail, other.cycles);
    behind.push_back(outside.most(op.tail, true));
  }
  for (const OnLine& first : line) {
    Outside outside;
    for (const OnLine& other : line)
      if (other.waits && other.head < first.head) outside.add(other.head, other.cycles);
    const std::size_t before = outside.most(first.head, false);
    Wide sum = 0, area = 0;
    std::size_t users = 0;
    std::vector<Wide> saved;  // per gap, where others use the unit in it; falling
    for (std::size_t i = 0; i < line.size(); ++i) {
      const OnLine& op = line[i];
      if (op.head < first.head) continue;
      if (op.waits) {
        const Wide shared = capacity + op.area, alone = std::max(capacity * op.cycles, shared);
        sum += alone;
        saved.insert(std::upper_bound(saved.begin(), saved.end(), alone - shared, std::greater<>()),
                     alone - shared);
      } else if (op.area > 0) {
        sum += op.area;
        area += op.area;
        ++users;
      }
      Wide least = sum;
      for (std::size_t g = 0; g < std::min(users, saved.size()); ++g) least -= saved[g];
      // Of the others that wait, those that start in the window.
      const std::size_t starts = waits - std::min(waits, saved.size() + before + behind[i]);
      const Wide value =
          first.head + (least + capacity - 1) / capacity + static_cast<Wide>(starts) + op.tail;
      if (value > longest.value)
        longest = {value, area, saved.size(), users, starts, first.head, op.tail};
    }
  }
  return longest;
}

/// "all and TC: 2048 cycles of 8 ops, beside 16 ops that wait = 2312".
Bound in_words(const std::string& slot, const std::string& unit, const Longest& longest) {
  std::string text = slot + " and " + unit + ": " +
                     std::to_string(static_cast<Cycle>(longest.area)) + " cycles of " +
                     std::to_string(longest.users) + " ops";
  if (longest.waits > 0) text += ", beside " + std::to_string(longest.waits) + " ops that wait";
  if (longest.starts > 0)
    text += ", with the starts of " + std::to_string(longest.starts) + " that wait";
  if (longest.head > 0) text += ", after " + std::to_string(longest.head);
  if (longest.tail > 0) text += ", before the last " + std::to_string(longest.tail);
  const auto value = static_cast<Cycle>(longest.value);
  return {value, "slot", text + " = " + std::to_string(value)};
}

}  // namespace

std::optional<Bound> slot_line_bound(const Problem& problem, Cycle ii, Cycle above) {
  assert(ii >= 1 && consistent(problem));
  std::vector<std::vector<int>> only(problem.warps.size());
  std::vector<char> waits(problem.ops.size(), 0);
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
    if (problem.ops[at(v)].cycles == 0) continue;
    waits[at(v)] = always_waits(problem, v) ? 1 : 0;
    if (const std::vector<int> slots = allowed_slots(problem, v); slots.size() == 1)
      only[at(slots.front())].push_back(v);
  }
  const std::vector<Cycle> delays = forced_delays(problem);
  const auto earliest = earliest_starts(problem, ii, delays);
  if (!earliest) return std::nullopt;
  const std::vector<Cycle> latest = *latest_starts(problem, ii, 0, delays);  // 0 - tail
  std::optional<Bound> largest;
  for (std::size_t w = 0; w < only.size(); ++w) {
    if (problem.warps[w].variable_latency || only[w].size() > kMostOnSlot ||
        std::none_of(only[w].begin(), only[w].end(), [&](int v) { return waits[at(v)] != 0; }))
      continue;
    for (int f = 0; f < static_cast<int>(problem.units.size()); ++f) {
      const Amount capacity = problem.units[at(f)].capacity;
      std::vector<OnLine> line;
      Wide area = 0;
      for (const int v : only[w]) {
        const Op& op = problem.ops[at(v)];
        OnLine one{(*earliest)[at(v)], -latest[at(v)] - op.cycles, waits[at(v)] != 0, op.cycles, 0};
        for (const Reservation& r : op.reservations)
          if (r.unit == f)
            one.area += Wide{r.amount} * (r.length - (one.waits && r.offset == 0 ? 1 : 0));
        if (!one.waits) area += one.area;
        line.push_back(one);
      }
      if (area == 0) continue;
      std::stable_sort(line.begin(), line.end(),
                       [](const OnLine& a, const OnLine& b) { return a.tail > b.tail; });
      const Longest longest = longest_line(line, capacity);
      if (longest.value <= above || longest.value > kMaxStart) continue;
      largest = in_words(problem.warps[w].name, problem.units[at(f)].name, longest);
      above = largest->value;
    }
  }
  return largest;
}

}  // namespace twill
