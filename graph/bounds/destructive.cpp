// Why it holds. Fix a schedule of length L <= D and one iteration of it. Every op starts within a
// window: from its head, the longest path to it, to D less its tail. The segments of that iteration
// ask for no more of a unit than it has, since with those of other iterations they do not; and of
// segments that take more than half of it no two overlap. For these (r, d, p: where a segment can
// begin, by when it ends, its length; r, p and d of a set: the least r, the sum, the largest d):
//
// Overload. r + p > d for no set.
// Edge finding (Carlier and Pinson, Management Science 35, 1989). For a set S and i outside it: if
// min(r(S), r(i)) + p(S) + p(i) > d(S), i ends last of them, since one of S does not; so it begins
// after all of S, no sooner than r(S') + p(S') for every part S' of S.
// Detectable precedences (Vilim, CP-AI-OR 2004). If r(i) + p(i) + p(j) > d(j), j comes before i. So
// i begins no sooner than r(S) + p(S) for every set S of such j.
//
// The same backwards. A segment's new window is its op's, and longest paths carry it on. Where a
// window becomes empty, or a unit of several instances is asked for more than it has in a window,
// there is no such schedule: none of length D, and none that is shorter, which ends by D, too.
#include "graph/bounds/destructive.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/accepted.hpp"
#include "graph/bounds/dual_feasible.hpp"
#include "graph/index.hpp"
#include "graph/loop.hpp"

namespace twill {
namespace {

constexpr int kWindowRounds = 30;  // of all units and paths
constexpr int kPathPasses = 50;
// Of one unit; the work is their square, and who checks a certificate has their cube.
constexpr std::size_t kMostAlone = 500;
constexpr std::size_t kMostDemands = 2'000;

/// A segment that excludes all others of its unit.
struct Alone {
  std::size_t op = 0;
  Cycle offset = 0, length = 0;
};
/// Where it can lie: in [begin, end).
struct Span {
  Cycle begin = 0, end = 0, length = 0;
};

/// By how much the begin of each is later than its own; nullopt = there is no room.
class Exclusion {
 public:
  explicit Exclusion(std::vector<Span> spans) : spans_(std::move(spans)) {
    for (std::size_t i = 0; i < spans_.size(); ++i) falling_.push_back(i);
    std::stable_sort(falling_.begin(), falling_.end(), [&](std::size_t a, std::size_t b) {
      return spans_[a].begin > spans_[b].begin;
    });
  }

  std::optional<std::vector<Cycle>> begins() {
    for (const Span& one : spans_) begins_.push_back(one.begin);
    std::vector<Cycle> ends;
    for (const Span& one : spans_) ends.push_back(one.end);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    for (const Cycle end : ends)
      if (!find_edges(end)) return std::nullopt;
    for (std::size_t i = 0; i < spans_.size(); ++i) behind_precedences(i);
    return std::move(begins_);
  }

 private:
  /// The sets of those that end by `end`, the last to begin first.
  bool find_edges(Cycle end) {
    std::vector<Cycle> first, sum, earliest;  // of each set: r, p, the most of r + p of its parts
    for (const std::size_t j : falling_) {
      const Span& one = spans_[j];
      if (one.end > end) continue;
      first.push_back(one.begin);
      sum.push_back((sum.empty() ? 0 : sum.back()) + one.length);
      const Cycle done = one.begin + sum.back();
      if (done > end) return false;
      earliest.push_back(earliest.empty() ? done : std::max(earliest.back(), done));
    }
    if (first.empty()) return true;
    std::vector<Cycle> rest(first.size());  // the most of r + p from that set on
    for (std::size_t k = first.size(); k-- > 0;)
      rest[k] = std::max(first[k] + sum[k], k + 1 < first.size() ? rest[k + 1] : 0);
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const Span& one = spans_[i];
      if (one.end <= end) continue;
      // Sets [0, later) begin later than i can.
      const auto later = static_cast<std::size_t>(
          std::partition_point(first.begin(), first.end(),
                               [&](Cycle begin) { return begin > one.begin; }) -
          first.begin());
      if (later < first.size() && rest[later] + one.length > end) {
        std::size_t k = first.size() - 1;
        while (first[k] + sum[k] + one.length <= end) --k;
        begins_[i] = std::max(begins_[i], earliest[k]);
      } else if (later > 0 && one.begin + sum[later - 1] + one.length > end) {
        begins_[i] = std::max(begins_[i], earliest[later - 1]);
      }
    }
    return true;
  }

  void behind_precedences(std::size_t i) {
    const Cycle done = spans_[i].begin + spans_[i].length;
    Cycle sum = 0;
    for (const std::size_t j : falling_) {
      if (j == i || done + spans_[j].length <= spans_[j].end) continue;
      sum += spans_[j].length;
      begins_[i] = std::max(begins_[i], spans_[j].begin + sum);
    }
  }

  std::vector<Span> spans_;
  std::vector<std::size_t> falling_;  ///< by their begins
  std::vector<Cycle> begins_;
};

class Windows {
 public:
  Windows(const Problem& problem, Cycle ii, std::vector<Cycle> heads, std::vector<Cycle> tails)
      : p_(problem),
        ii_(ii),
        delays_(forced_delays(problem)),
        first_heads_(std::move(heads)),
        first_tails_(std::move(tails)),
        alone_(problem.units.size()) {
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      for (const Reservation& r : problem.ops[v].reservations)
        if (r.amount > problem.units[at(r.unit)].capacity / 2)
          alone_[at(r.unit)].push_back({v, r.offset, r.length});
    for (std::vector<Alone>& unit : alone_)
      if (unit.size() > kMostAlone) unit.clear();
  }

  /// After refute() found no reason.
  StartRanges starts() const {
    StartRanges starts{heads_, tails_};
    for (Cycle& latest : starts.latest) latest = deadline_ - latest;
    return starts;
  }

  /// Is no schedule this short?
  bool refute(Cycle deadline) {
    deadline_ = deadline;
    heads_ = first_heads_;
    tails_ = first_tails_;
    for (int round = 0; round < kWindowRounds; ++round) {
      const std::vector<Cycle> heads = heads_, tails = tails_;
      for (std::size_t f = 0; f < alone_.size(); ++f)
        if (alone_[f].size() > 1 && (!raise(f, true) || !raise(f, false))) return true;
      if (!follow_paths()) return true;
      if (heads == heads_ && tails == tails_) break;
    }
    for (std::size_t f = 0; f < p_.units.size(); ++f)
      if (overloaded(f)) return true;
    return false;
  }

 private:
  /// Heads, or backwards tails, by one unit.
  bool raise(std::size_t f, bool forwards) {
    std::vector<Span> spans;
    for (const auto& [v, offset, length] : alone_[f]) {
      const Cycle begin = heads_[v] + offset, end = deadline_ - tails_[v] + offset + length;
      spans.push_back(forwards ? Span{begin, end, length}
                               : Span{deadline_ - end, deadline_ - begin, length});
    }
    const auto begins = Exclusion(std::move(spans)).begins();
    if (!begins) return false;
    for (std::size_t i = 0; i < begins->size(); ++i) {
      const auto& [v, offset, length] = alone_[f][i];
      if (forwards)
        heads_[v] = std::max(heads_[v], (*begins)[i] - offset);
      else
        tails_[v] = std::max(tails_[v], (*begins)[i] + offset + length);
    }
    return true;
  }

  bool follow_paths() {
    bool changed = true;
    for (int pass = 0; changed && pass < kPathPasses; ++pass) {
      changed = false;
      const auto raise = [&](Cycle& value, Cycle to) {
        if (to <= value) return;
        value = to;
        changed = true;
      };
      for (std::size_t e = 0; e < p_.edges.size(); ++e) {
        const Edge& edge = p_.edges[e];
        const Cycle apart = delays_[e] - edge.distance * ii_;
        raise(heads_[at(edge.to)], heads_[at(edge.from)] + apart);
        raise(tails_[at(edge.from)], tails_[at(edge.to)] + apart);
      }
    }
    for (std::size_t v = 0; v < heads_.size(); ++v)
      if (heads_[v] + tails_[v] > deadline_) return false;
    return true;
  }

  struct Demand {
    Cycle begin, end, area;
  };

  /// Is more asked of it in a window than it has, by amounts or by weights in their place?
  bool overloaded(std::size_t f) const {
    const Amount capacity = p_.units[f].capacity;
    std::vector<Demand> demands;
    std::vector<Amount> amounts;
    for (std::size_t v = 0; v < p_.ops.size(); ++v)
      for (const Reservation& r : p_.ops[v].reservations)
        if (at(r.unit) == f && r.amount < kMaxAmount / (r.length + 1)) {
          demands.push_back(
              {heads_[v] + r.offset, deadline_ - tails_[v] + r.offset + r.length, r.length});
          amounts.push_back(r.amount);
        }
    if (demands.size() > kMostDemands) return false;
    std::vector<DualFeasible> all = {{DualFeasible::amount, 1}};
    for (const DualFeasible& more : unit_weights(amounts, capacity)) all.push_back(more);
    return std::any_of(all.begin(), all.end(), [&](const DualFeasible& weights) {
      std::vector<Demand> weighed = demands;
      for (std::size_t i = 0; i < weighed.size(); ++i)
        weighed[i].area *= static_cast<Cycle>(weights.weight(amounts[i], capacity));
      return overfull(std::move(weighed), static_cast<Amount>(weights.most(capacity)));
    });
  }

  static bool overfull(std::vector<Demand> demands, Amount most) {
    std::sort(demands.begin(), demands.end(),
              [](const Demand& a, const Demand& b) { return a.end < b.end; });
    for (const Demand& first : demands) {
      Cycle area = 0;
      for (const Demand& one : demands) {
        if (one.begin < first.begin) continue;
        area += one.area;
        if (area > 0 && (area - 1) / most >= one.end - first.begin) return true;
      }
    }
    return false;
  }

  const Problem& p_;
  Cycle ii_, deadline_ = 0;
  std::vector<Cycle> delays_, first_heads_, first_tails_;
  std::vector<Cycle> heads_, tails_;  ///< tails: from the start to the end of the iteration
  std::vector<std::vector<Alone>> alone_;
};

/// nullopt where a cycle of dependences gains time.
std::optional<Windows> windows_of(const Problem& problem, Cycle ii) {
  const std::vector<Cycle> delays = forced_delays(problem);
  auto heads = earliest_starts(problem, ii, delays);
  if (!heads) return std::nullopt;
  std::vector<Cycle> tails = *latest_starts(problem, ii, 0, delays);
  for (Cycle& tail : tails) tail = -tail;
  return Windows(problem, ii, *std::move(heads), std::move(tails));
}

}  // namespace

std::optional<Bound> destructive_bound(const Problem& problem, Cycle ii, Cycle above) {
  assert(ii >= 1 && consistent(problem));
  auto windows = windows_of(problem, ii);
  if (!windows || !windows->refute(above)) return std::nullopt;
  Cycle refuted = above, step = 1;
  while (step < kMaxInterval && windows->refute(refuted + step)) {
    refuted += step;
    step *= 2;
  }
  for (Cycle open = refuted + step; open - refuted > 1;) {
    const Cycle middle = refuted + (open - refuted) / 2;
    (windows->refute(middle) ? refuted : open) = middle;
  }
  const std::string most = std::to_string(refuted);
  return Bound{refuted + 1, "deadline",
               "what excludes each other on units has no order that ends by " + most +
                   ": at least " + std::to_string(refuted + 1) + " cycles"};
}

std::optional<StartRanges> start_ranges(const Problem& problem, Cycle ii, Cycle deadline) {
  assert(ii >= 1 && consistent(problem));
  auto windows = windows_of(problem, ii);
  if (!windows || windows->refute(deadline)) return std::nullopt;
  return windows->starts();
}

}  // namespace twill
