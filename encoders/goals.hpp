// Secondary goals after I and L: what they measure, and "at most so much" as a constraint.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "encoders/placement.hpp"
#include "encoders/sums/pseudo_boolean.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Goals by name, each with the most allowed.
using GoalLimits = std::vector<std::pair<std::string, std::int64_t>>;

/// The problem whose schedules are those of `problem` within the limits: capacities are reduced,
/// what no capacity expresses becomes clauses.
struct LimitedProblem {
  Problem problem;
  PlacementLimits placement;
};
LimitedProblem limit_problem(const Problem& problem, const GoalLimits& limits);

/// What a goal's least value rests on. A certificate's check counts by it a second time, with code
/// of its own (engine/certificate/counting.cpp).
enum class LeastGoal { zero, op_on_slot, first_slot, used_units, loads, lifetimes, parts };

/// One row of the table of goals (goals.cpp): a number that is to be small, or one for each unit,
/// slot, memory, load or op. Functions get the index of that, or -1.
struct GoalKind {
  enum Of { whole, units, slots, memories, loads, ops, sum };

  const char* name;       ///< "slots", or "issuers:UNIT" where an argument follows
  Of of = whole;          ///< what the argument names; sum = there are parts
  const char* note = "";  ///< what help texts add to the name
  std::int64_t (*value)(const Problem&, const Schedule&, int index);  ///< I >= 1
  /// No schedule has less, why in words, and by what; null = 0.
  std::int64_t (*least)(const Problem&, int index) = nullptr;
  const char* reason = "it is never negative";
  LeastGoal least_by = LeastGoal::zero;
  /// "At most so much" is either a change of the problem and its limits, or clauses: the weights
  /// of literals that may be true together, implied by what they count, and the name of their
  /// group, to which the argument is added.
  void (*limit)(LimitedProblem&, int index, std::int64_t most) = nullptr;
  std::vector<Term> (*terms)(PlacementModel&, int index) = nullptr;
  const char* counts = "";
  std::int64_t most_asked =
      std::numeric_limits<std::int64_t>::max();  ///< a larger limit is as good as none
  /// A place of one op. The search settles starts before it asks, and asks for one less first.
  bool position = false;
  /// Asked before the smallest L, as the first goal or not at all, and by the problem itself: no
  /// limit (engine/sturdiest.hpp).
  bool before_length = false;
  /// L itself: a limit of it is the deadline of the question, no part of the problem. Only where
  /// goals may cost cycles of L.
  bool is_length = false;
};

/// One goal of a problem.
struct GoalMeasure {
  const GoalKind* kind;
  int index = -1;                                 ///< of the unit, slot, memory or op
  std::vector<PlacementLimits::Part> parts = {};  ///< of a sum
};

/// Of a sum: the greatest weight of a part, and the most parts.
inline constexpr std::int64_t kMostWeight = 1'000'000;
inline constexpr std::size_t kMostParts = 64;

/// What `--goals default` stands for. Slots first: a slot without ops is a warp that need not be
/// launched, and its registers are free for the others. Then what crosses slots, because it costs
/// time that the model does not see: hand-overs go through shared memory and its banks, and every
/// other crossing is still a barrier. Registers last: what is left below the limit is the room that
/// a compiler has for addresses.
inline const std::vector<std::string> kDefaultGoals = {"slots", "handovers", "crossings",
                                                       "registers"};

/// L as a goal; it comes last by itself where goals may cost cycles of L.
inline constexpr const char* kLengthGoal = "length";

/// The names of all goals, for help texts: lines of some 80 characters.
std::string goal_names();

/// `names` with "canonical", which must be the last, written out: start and slot of every op in the
/// problem's order. Within I, L and the goals before it that leaves one schedule, the
/// lexicographically smallest. Throws InputError as parse_goal().
std::vector<std::string> listed_goals(const Problem& problem,
                                      const std::vector<std::string>& names);

/// One of the table, or a sum of such that count by terms: "10*handovers+slots+3*issuers:TC". A
/// sum is the composite objective of Meta's joint solver (Triton's fork, Z3JointSolver.cpp) where
/// all that is traded is counted. Throws InputError naming the goals that `problem` has.
GoalMeasure parse_goal(const Problem& problem, const std::string& name);

/// The longest that schedules within the limits are: `deadline`, or a limit of "length".
Cycle deadline_within(const GoalLimits& limits, Cycle deadline);

/// No schedule has less.
std::int64_t least_goal_value(const Problem& problem, const GoalMeasure& goal);

/// The goal's value in a schedule with I >= 1.
std::int64_t goal_value(const Problem& problem, const Schedule& schedule, const GoalMeasure& goal);

/// Registers a thread at the fullest moment of one slot.
std::int64_t slot_registers(const Problem& problem, const Schedule& schedule, int slot);

}  // namespace twill
