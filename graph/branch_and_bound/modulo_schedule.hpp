// The branch and bound over orders: optimal modulo schedules of dependence and functional units
// alone (rules 1 and 2), without slots. It is not the form "modulo", which is what the engines
// solve.
//
// The problem of Rau (MICRO-27 1994) and Lam (PLDI 1988); Twill's OPTIMAL-MODULO-SCHEDULE(G, I) and
// LEN(M) (Soi et al., arXiv:2512.18134, Algorithm 1). Exact branch and bound, see the .cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

struct ModuloScheduleOptions {
  int threads = 0;  ///< 0 = as many as the machine has
  /// Search nodes allowed in one subtree of one query (a query has a fixed number of subtrees). Not
  /// a global count, so that the result stays the same for any number of threads.
  std::int64_t node_limit = std::numeric_limits<std::int64_t>::max();
  std::stop_token stop;
};

struct ModuloSchedule {
  /// With `start`: that schedule is the shortest at `initiation_interval` (and, from
  /// smallest_modulo_schedule, no smaller I has one). Without: there is no schedule. Not proved:
  /// a limit or the stop token came first, and the rest is the best that is known.
  bool proved = false;
  Cycle initiation_interval = 0;
  std::optional<std::vector<Cycle>> start;  ///< per op, >= 0
  Cycle length = 0;                         ///< of `start`: max of start + cycles
  Cycle length_lower_bound = 0;             ///< proved, at `initiation_interval`
  Cycle ii_lower_bound = 0;  ///< smallest_modulo_schedule: proved, no schedule below it
  std::int64_t nodes = 0;    ///< informative: depends on timing when several threads run
};

/// A shortest schedule at this I >= 1. The starts are the same for any number of threads, also when
/// the node limit ends the search; only the stop token makes them depend on timing. The check of
/// completeness goes up to modulo_stage_bound() stages. Precondition: check() accepted the problem.
ModuloSchedule optimal_modulo_schedule(const Problem& problem, Cycle ii,
                                       const ModuloScheduleOptions& options = {});

/// The smallest I that has a schedule, and a shortest schedule there. I ascends from the bounds of
/// rules 1 and 2, because feasibility is not monotone in I when ops have several segments.
ModuloSchedule smallest_modulo_schedule(const Problem& problem,
                                        const ModuloScheduleOptions& options = {});

}  // namespace twill
