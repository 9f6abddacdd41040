// Why it holds. Fix a schedule and one iteration of it, whose segments ask for no more of a unit
// than it has. Op v starts at least gap(u, v) after op u, the longest path, negative perhaps.
//
// Heads. v starts after all that leads to it: of every set of segments of one unit whose ops lead
// to v, the last to end leaves at least the least of their gaps to v. So v starts no sooner than
// least head + ceil(area / capacity) + least gap, and tails alike. Those raise others along paths.
//
// Two units. Let pairs of segments (x, y), no two with the same x or y, be such that y begins at
// least `lag` after the end of x, all x on one unit that has one instance, all y on another one.
// The k-th of the x to end ends no sooner than the least of their heads and the k shortest of their
// lengths. So before cycle a no more y begin than there are k for which that and `lag` is below a.
// All other y, and the segments of that unit whose head is at least a, lie between a and L - b, b
// being the least of their tails. Backwards, from L, the same holds.
//
// This is the bound of a flow shop of two machines with time lags (Johnson, NRLQ 1954; Mitten,
// Management Science 1959) with heads and tails, for all orders of the first machine at once.
#include "graph/bounds/two_units.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "graph/accepted.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/loop.hpp"

namespace twill {
namespace {

constexpr std::size_t kMostOps = 200;
constexpr int kRaises = 3;  // of raising heads and tails

/// A segment of a unit in an iteration.
struct Segment {
  std::size_t op = 0;
  Cycle offset = 0, length = 0, area = 0;
};

/// Where a segment can lie: it begins at `head` at the soonest, and `tail` comes after it.
struct Place {
  Cycle head = 0, tail = 0, length = 0, area = 0;
};

using Gaps = std::vector<std::vector<Cycle>>;  // from start to start

class Iteration {
 public:
  Iteration(const Problem& problem, Cycle ii, const std::vector<Cycle>& delays,
            std::vector<Cycle> heads, std::vector<Cycle> tails)
      : heads_(std::move(heads)), tails_(std::move(tails)) {
    const std::size_t ops = problem.ops.size();
    for (std::size_t v = 0; v < ops; ++v)
      gaps_.push_back(longest_paths_from(problem, static_cast<int>(v), ii, delays));
    segments_.resize(problem.units.size());
    for (const Unit& unit : problem.units) capacities_.push_back(unit.capacity);
    for (std::size_t v = 0; v < ops; ++v)
      for (const Reservation& r : problem.ops[v].reservations)
        if (r.amount < kMaxAmount / (r.length + 1))
          segments_[at(r.unit)].push_back({v, r.offset, r.length, r.amount * r.length});
    for (int round = 0; round < kRaises && raise(); ++round) {
    }
  }

  std::size_t units() const { return capacities_.size(); }
  Amount capacity(std::size_t f) const { return capacities_[f]; }

  /// Forwards, or from L backwards.
  std::vector<Place> places(std::size_t f, bool forwards) const {
    std::vector<Place> all;
    for (const auto& [v, offset, length, area] : segments_[f]) {
      all.push_back({heads_[v] + offset, tails_[v] - offset - length, length, area});
      if (!forwards) std::swap(all.back().head, all.back().tail);
    }
    return all;
  }

  /// From the end of the i-th segment of `f` to the begin of the j-th of `g`, in that direction.
  Cycle gap(std::size_t f, std::size_t i, std::size_t g, std::size_t j, bool forwards) const {
    const Segment *first = &segments_[f][i], *second = &segments_[g][j];
    if (!forwards) std::swap(first, second);
    if (first->op == second->op || gaps_[first->op][second->op] == kUnreachable)
      return kUnreachable;
    return gaps_[first->op][second->op] + second->offset - first->offset - first->length;
  }

 private:
  bool raise() {
    bool raised = false;
    const std::size_t ops = heads_.size();
    for (std::size_t v = 0; v < ops; ++v)
      for (std::size_t f = 0; f < segments_.size(); ++f) {
        std::vector<Place> before, after;
        for (const auto& [u, offset, length, area] : segments_[f]) {
          if (u == v) continue;
          if (const Cycle gap = gaps_[u][v]; gap != kUnreachable)
            before.push_back({heads_[u] + offset, gap - offset - length, length, area});
          if (const Cycle gap = gaps_[v][u]; gap != kUnreachable)
            after.push_back({gap + offset, tails_[u] - offset - length, length, area});
        }
        raised = raise(heads_[v], std::move(before), capacities_[f]) || raised;
        raised = raise(tails_[v], std::move(after), capacities_[f]) || raised;
      }
    for (std::size_t u = 0; u < ops && raised; ++u)
      for (std::size_t v = 0; v < ops; ++v) {
        if (gaps_[u][v] == kUnreachable) continue;
        heads_[v] = std::max(heads_[v], heads_[u] + gaps_[u][v]);
        tails_[u] = std::max(tails_[u], tails_[v] + gaps_[u][v]);
      }
    return raised;
  }

  static bool raise(Cycle& value, std::vector<Place> places, Amount capacity) {
    std::sort(places.begin(), places.end(),
              [](const Place& a, const Place& b) { return a.tail > b.tail; });
    bool raised = false;
    for (const Place& first : places) {
      Cycle area = 0;
      for (const Place& place : places) {
        if (place.head < first.head) continue;
        area += place.area;
        const Cycle least = first.head + ceil_divide(area, capacity) + place.tail;
        if (least <= value) continue;
        value = least;
        raised = true;
      }
    }
    return raised;
  }

  std::vector<Cycle> heads_, tails_;  ///< of ops; tails from their starts
  Gaps gaps_;
  std::vector<std::vector<Segment>> segments_;  ///< of units
  std::vector<Amount> capacities_;
};

/// Segments of the second unit that each wait for one of the first unit.
struct Pairs {
  std::vector<char> fed;          ///< per segment of the second unit
  std::vector<Cycle> first_ends;  ///< before the k-th ends on the first unit, and `lag`
};

/// Each segment of the first unit takes the nearest of the second one that is left.
Pairs pairs_of(const Iteration& iteration, std::size_t f, std::size_t g, bool forwards) {
  const std::vector<Place> first = iteration.places(f, forwards);
  Pairs pairs{std::vector<char>(iteration.places(g, forwards).size(), 0), {}};
  std::vector<Cycle> lengths;
  Cycle lag = kMaxStart, head = kMaxStart;
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::optional<std::size_t> nearest;
    Cycle least = 0;
    for (std::size_t j = 0; j < pairs.fed.size(); ++j) {
      const Cycle gap = iteration.gap(f, i, g, j, forwards);
      if (pairs.fed[j] || gap == kUnreachable || (nearest && gap >= least)) continue;
      nearest = j;
      least = gap;
    }
    if (!nearest) continue;
    pairs.fed[*nearest] = 1;
    lengths.push_back(first[i].length);
    lag = std::min(lag, least);
    head = std::min(head, first[i].head);
  }
  std::sort(lengths.begin(), lengths.end());
  for (const Cycle length : lengths) pairs.first_ends.push_back((head += length) + lag);
  return pairs;
}

/// From cycle `begin` on: the largest bound by all segments that lie behind it.
struct Behind {
  Cycle value = 0, area = 0, tail = 0;
  std::size_t early = 0;  ///< of the fed ones no more begin before it
};

Behind behind(const std::vector<Place>& falling, const std::vector<char>& fed,
              const std::vector<Cycle>& first_ends, Amount capacity, Cycle begin) {
  Behind worst;
  worst.early = static_cast<std::size_t>(
      std::lower_bound(first_ends.begin(), first_ends.end(), begin) - first_ends.begin());
  // The largest ones are early.
  std::priority_queue<Cycle, std::vector<Cycle>, std::greater<>> early;
  Cycle area = 0;
  for (std::size_t j = 0; j < falling.size(); ++j) {
    if (falling[j].head >= begin) {
      area += falling[j].area;
    } else if (fed[j]) {
      early.push(falling[j].area);
      if (early.size() <= worst.early) continue;
      area += early.top();
      early.pop();
    } else {
      continue;
    }
    const Cycle value = begin + ceil_divide(area, capacity) + falling[j].tail;
    if (value <= worst.value) continue;
    worst.value = value;
    worst.area = area;
    worst.tail = falling[j].tail;
  }
  return worst;
}

}  // namespace

std::optional<Bound> two_unit_bound(const Problem& problem, Cycle ii, Cycle above) {
  assert(ii >= 1 && consistent(problem));
  if (problem.ops.size() > kMostOps) return std::nullopt;
  const std::vector<Cycle> delays = forced_delays(problem);
  auto earliest = earliest_starts(problem, ii, delays);
  if (!earliest) return std::nullopt;
  std::vector<Cycle> tails = *latest_starts(problem, ii, 0, delays);
  for (Cycle& tail : tails) tail = -tail;
  const Iteration iteration(problem, ii, delays, *std::move(earliest), std::move(tails));
  std::optional<Bound> largest;
  for (std::size_t f = 0; f < iteration.units(); ++f)
    for (std::size_t g = 0; g < iteration.units() && iteration.capacity(f) == 1; ++g)
      for (const bool forwards : {true, false}) {
        if (f == g) continue;
        Pairs pairs = pairs_of(iteration, f, g, forwards);
        if (pairs.first_ends.size() < 2) continue;
        const std::vector<Place> places = iteration.places(g, forwards);
        std::vector<std::size_t> order;
        for (std::size_t j = 0; j < places.size(); ++j) order.push_back(j);
        std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
          return places[i].tail > places[j].tail;
        });
        std::vector<Place> falling;
        std::vector<char> fed;
        std::vector<Cycle> begins = pairs.first_ends;
        for (const std::size_t j : order) {
          falling.push_back(places[j]);
          fed.push_back(pairs.fed[j]);
          begins.push_back(places[j].head);
        }
        for (const Cycle begin : begins) {
          const Behind worst = behind(falling, fed, pairs.first_ends, iteration.capacity(g), begin);
          if (worst.value <= above) continue;
          above = worst.value;
          largest = Bound{
              above, "two units",
              problem.units[g].name + ": " + std::to_string(worst.area) + " cycles on " +
                  std::to_string(iteration.capacity(g)) +
                  (forwards ? " after " : " before the last ") + std::to_string(begin) +
                  (forwards ? " before the last " : " after ") + std::to_string(worst.tail) +
                  " = " + std::to_string(above) + ", since " + problem.units[f].name +
                  (forwards ? " lets no more than " : " leaves no more than ") +
                  std::to_string(worst.early) + " of " + std::to_string(pairs.first_ends.size()) +
                  (forwards ? " begin before" : " end behind that")};
        }
      }
  return largest;
}

}  // namespace twill
