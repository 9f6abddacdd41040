// A straight-line unrolling of a modulo schedule, swept event by event. Internal to verify().
#pragma once

#include <optional>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// One interval an iteration: the copy of `op` in iteration i holds `amount` during the cycles
/// [first + i * I, first + i * I + length). first >= 0.
struct Train {
  int op = 0;
  Cycle first = 0;
  Cycle length = 0;
  Amount amount = 1;
};

/// The iterations begin, ..., end - 1.
struct Iterations {
  Cycle begin = 0;
  Cycle end = 0;
  Cycle count() const { return end - begin; }
};

/// Iterations 0 .. K-1 of a schedule, each issuing op v at start[v] + i * I, with
///
///   K = N + max distance + ceil(max hold / I) + 2,   N = max(ceil(L / I), stage count).
///
/// Why K suffices. Nothing that iteration i does reaches beyond cycle (i + K - 2) * I: it executes
/// until i * I + L <= (i + N) * I; and as start[v] <= N * I - 1, the last use of its results,
/// start[v] + (i + distance) * I + hold, is at most (i + K - 2) * I - 1. So every copy that is
/// active in the cycles [(K-3) * I, (K-2) * I) comes from iterations 0 .. K-3: that period already
/// shows the loop as it is after any number of iterations, and two more are kept as a margin. In
/// turn every copy of the unrolling also exists in the endless loop, so nothing is found that the
/// endless loop does not do. (N counts ceil(L / I) and not only the stages, 1 + max floor(start /
/// I), because an op longer than I meets later copies of itself.)
///
/// A result whose last use lies in an iteration >= K stays live up to that use, whose time is
/// known.
class Unrolling {
 public:
  /// `schedule` must have passed verify()'s checks of shape and range.
  Unrolling(const Problem& problem, const Schedule& schedule);

  Cycle iterations() const { return iterations_; }

  /// The observed cycles [first_cycle, end_cycle). end_cycle = K * I: from there on the unrolling
  /// drains and holds less. first_cycle is 0, unless K > kMaxReplay: then it is (K-1) * I, and what
  /// is under way there is counted, not replayed, so that the time does not grow with K.
  Cycle first_cycle() const { return first_cycle_; }
  Cycle end_cycle() const { return end_cycle_; }
  static constexpr Cycle kMaxReplay = 1'000;

  /// The iterations whose copy covers cycle t.
  Iterations covering(const Train& train, Cycle t) const;

  /// The first observed cycle in which the copies of all trains hold more than `limit`.
  /// O(K * trains * log trains), as is first_clash().
  std::optional<Cycle> first_excess(const std::vector<Train>& trains, Amount limit) const;

  /// A copy of probe number `probe` starts at `cycle` while a copy of another op executes.
  struct Clash {
    std::size_t probe = 0;
    Cycle cycle = 0;
  };

  /// The first start of a probe (its length is not looked at) that lies inside an interval of
  /// `executions` which belongs to another op than the probe's own.
  std::optional<Clash> first_clash(const std::vector<Train>& executions,
                                   const std::vector<Train>& probes) const;

 private:
  Cycle period_;
  Cycle iterations_;
  Cycle first_cycle_;
  Cycle end_cycle_;
};

}  // namespace twill
