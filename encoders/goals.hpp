// Secondary goals after I and L: what they measure, and "at most so much" as a constraint.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "encoders/placement.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// A number that is to be small. By name:
///   slots           warp slots with at least one op
///   handovers       edges whose result costs its producer's spill because it crosses slots
///   crossings       edges between ops on different slots: each is a synchronisation
///   issuers         pairs of a unit and a slot that has an op on it
///   issuers:UNIT    slots that have an op on one unit
///   registers       registers a thread at the fullest moment of the fullest slot
///   registers:SLOT  the same of one slot
///   memory:NAME     the fullest moment of one memory
///   rings           buffers in flight of the streaming load with most of them (ring_depth.hpp)
///   ring:OP         the same of one streaming load
///   lifetime        cycles that results are held, over all ops (lifetime.hpp)
///   start:OP        the cycle that one op starts at
///   slot:OP         the place of its slot among the problem's slots, from 0
struct GoalMeasure {
  enum Kind {
    slots,
    handovers,
    crossings,
    issuers,
    unit_issuers,
    registers,
    slot_registers,
    memory,
    rings,
    ring,
    lifetime,
    start,
    slot
  } kind = slots;
  int index = -1;  ///< of the unit, slot, memory or op
};

/// What `--goals default` stands for. Slots first: a slot without ops is a warp that need not be
/// launched, and its registers are free for the others. Then what crosses slots, because it costs
/// time that the model does not see: hand-overs go through shared memory and its banks, and every
/// other crossing is still a barrier. Registers last: what is left below the limit is the room that
/// a compiler has for addresses.
inline const std::vector<std::string> kDefaultGoals = {"slots", "handovers", "crossings",
                                                       "registers"};

/// `names` with "canonical", which must be the last, written out: start and slot of every op in the
/// problem's order. Within I, L and the goals before it that leaves one schedule, the
/// lexicographically smallest. Throws InputError as parse_goal().
std::vector<std::string> listed_goals(const Problem& problem,
                                      const std::vector<std::string>& names);

/// Throws InputError naming the goals that `problem` has.
GoalMeasure parse_goal(const Problem& problem, const std::string& name);

/// No schedule has less: an op is on a slot that is allowed, and a load has a buffer.
std::int64_t least_goal_value(const Problem& problem, const GoalMeasure& goal);

/// The goal's value in a schedule with I >= 1.
std::int64_t goal_value(const Problem& problem, const Schedule& schedule, const GoalMeasure& goal);

/// Goals by name, each with the most allowed.
using GoalLimits = std::vector<std::pair<std::string, std::int64_t>>;

/// The problem whose schedules are those of `problem` within the limits: capacities are reduced,
/// what no capacity expresses becomes clauses.
struct LimitedProblem {
  Problem problem;
  PlacementLimits placement;
};
LimitedProblem limited(const Problem& problem, const GoalLimits& limits);

}  // namespace twill
