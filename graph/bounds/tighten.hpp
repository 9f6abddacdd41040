// From the orders of a schedule to the best schedule with those orders.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Keeps what a schedule of `ordered` decided, its slots and which copy of what comes before which,
/// and finds the smallest initiation interval in [low, high], then the earliest starts (so the
/// smallest length), that these decisions allow in `problem`. nullopt when they allow none in that
/// range. The two problems have the same ops, edges, units and slots and may differ in their
/// cycles: with coarse cycles in `ordered` this lifts a coarse schedule to the real cycles; with
/// the same problem twice it tightens. Every result obeys the rules of `problem`; verify() confirms
/// it. `stop` is asked now and then: once it says true, the best that was found until then is
/// returned, or nullopt, which then says nothing.
///
/// Precondition: a valid schedule of `ordered`; monotone_in_ii(problem), or low == high, or
/// high at most schedule's own I with ordered == problem (the allowed I are then an interval up to
/// it).
std::optional<Schedule> tighten(const Problem& problem, const Problem& ordered,
                                const Schedule& schedule, Cycle low, Cycle high,
                                const std::function<bool()>& stop = {});

/// A cycle of constraints around which the loop cannot go faster.
struct CriticalRecurrence {
  struct Step {
    int from = 0, to = 0;
    Cycle cycles = 0;    ///< `to` is at least that long after `from`, but for whole iterations
    std::string reason;  ///< "dependence", "unit TC", "registers of wg0", "wait of s0_pv", ...
  };
  Cycle ii = 0;      ///< the smallest I that the schedule's orders allow: ceil(cycles / iterations)
  Cycle cycles = 0;  ///< of all steps
  Cycle iterations = 0;  ///< that the cycle goes round
  std::vector<Step> steps;
};

/// With the slots and orders of `schedule`, which is valid: what keeps I from being smaller than
/// `ii` (at most the schedule's own I). nullopt = nothing does, down to I = 1. Pins to cycles are
/// not regarded.
std::optional<CriticalRecurrence> critical_recurrence(const Problem& problem,
                                                      const Schedule& schedule);

}  // namespace twill
