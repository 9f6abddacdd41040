// Arithmetic lower bounds on the initiation interval, found before any search.
//
// ResMII and RecMII are Rau's and Lam's (Rau, MICRO-27 1994; Lam, PLDI 1988); the lifetime bounds
// are in the manner of MinAvg (Huff, PLDI 1993). The bounds of the concurrency rule are in
// slot_bounds.hpp. Each says in words what it adds up, so that a user can check it by hand.
//
// A bound is proved for every schedule of the problem. Precondition everywhere: the problem's parts
// name each other rightly (graph/accepted.hpp); check() asks more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// "No schedule has an initiation interval below `value`."
struct Bound {
  Cycle value = 1;
  std::string name;  ///< "units", "recurrence", "channel", "lifetimes", "slot", ...
  std::string text;  ///< the arithmetic, e.g. "SFU: 2 x 1024 + 2 x 8 = 2064 cycles on 1 instance"
};

/// Per unit that is used, in the problem's order: the largest of ceil(sum of amount x length /
/// capacity), the same by weights in the place of amounts (dual_feasible.hpp), and the sum of the
/// lengths of segments that take more than half of the instances (no two of those overlap).
std::vector<Bound> res_mii(const Problem& problem);

/// Is op `v` alone, repeated every I cycles, within the capacity of every unit? An op longer than I
/// or with several segments meets itself. Not monotone in I.
bool reservation_fits(const Problem& problem, int v, Cycle ii);

/// The smallest I at which no dependence cycle gains time, in exact integers: max over cycles of
/// ceil(sum of delays / sum of distances). With `forced_spills` the spills that every schedule pays
/// are delays too. nullopt when there is no cycle, or none with a positive delay.
std::optional<Bound> rec_mii(const Problem& problem, bool forced_spills);

/// Per op the least lifetime of its value that rules 1, 3 and 7 allow, in cycles.
std::vector<Cycle> smallest_lifetimes(const Problem& problem);

/// Results stay live for at least the delay and the hold of each use, so per memory, and over the
/// register files of all slots, amount x smallest lifetime must fit in capacity x I.
std::vector<Bound> lifetime_bounds(const Problem& problem);

/// Where ops are pinned to cycles, the least I that next_interval.hpp leaves, at most one more than
/// the latest of these cycles; nullopt where that is 1.
std::optional<Bound> pin_bound(const Problem& problem);

/// All of them and those of channel_bounds.hpp and slot_bounds.hpp, and that of packing.hpp where
/// it is more than all of these, largest first (ties in the order above); never empty: the last
/// resort is I >= 1. Equals of a bound without forced spills are not repeated.
std::vector<Bound> lower_bounds(const Problem& problem);

}  // namespace twill
