// A modulo schedule by list scheduling with ejection: a first schedule in milliseconds, no proof.
//
// Rau, "Iterative modulo scheduling" (MICRO-27, 1994): ops in an order of priority, each where
// there is room; where there is none, others make way and are placed again. Who makes way is chosen
// as by Nagata and Braysy, "A powerful route minimization heuristic for the vehicle routing problem
// with time windows" (2009): an op that found no room counts for more from then on.
// Smaller intervals begin from the best schedule so far, with a window of its period cut out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

struct ListScheduleOptions {
  std::uint64_t seed = 0;
  /// Ops placed for one of the loop, over all intervals tried.
  std::int64_t effort = 200;
  /// Asked now and then: true = give up now. (Then the result depends on when.)
  std::function<bool()> stop = {};
  /// Of list_schedule(): one that is known, to begin from in the place of nothing.
  std::optional<Schedule> from = {};
};

/// A schedule with an I of at least `low`, a bound, as small as it finds one; accepted by verify(),
/// tightened. nullopt = it found none, which says nothing. The same on every machine.
/// Precondition: check() accepted the problem; no dependence cycle exceeds `low`. Loops with inner
/// loops, and ops pinned to cycles or stages or to others' slots, are not tried.
std::optional<Schedule> list_schedule(const Problem& problem, Cycle low,
                                      const ListScheduleOptions& options = {});

/// The same, by scheduling one iteration alone: sooner and shorter where L can be near I. As long
/// as it gains it takes up to six times the effort. (list_justify.cpp)
std::optional<Schedule> list_justified(const Problem& problem, Cycle low,
                                       const ListScheduleOptions& options = {});

/// Does the list scheduler try such loops?
bool list_tries(const Problem& problem);

/// A schedule at the same I that is no longer, as short as it finds one by placing some ops again
/// (large neighbourhood search), and no shorter than `low`; accepted by verify(). The same on every
/// machine. Precondition: `schedule` is one of the problem.
Schedule list_shorten(const Problem& problem, const Schedule& schedule, Cycle low,
                      const ListScheduleOptions& options = {});

}  // namespace twill
