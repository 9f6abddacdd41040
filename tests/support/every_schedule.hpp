// A second brute force, written from the statement of the problem alone (the model's rules 1 to 10,
// pins, charged rings, goals): it shares nothing with the library but the plain data of a problem
// and of a schedule. brute_force.hpp is the first; what both say wrongly, neither wrote from the
// other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill::test {

/// What is asked of a problem beside the problem itself.
struct TruthAsked {
  Cycle stages = 0;                          ///< the most; 0 = any number
  std::optional<Cycle> ii = {};              ///< only this interval
  bool handover = true;                      ///< may a result with a spill be used on another slot?
  std::vector<std::pair<int, int>> on = {};  ///< ops that must be on a slot
  std::vector<std::string> goals = {};       ///< by name, "canonical" as the last
  /// How many cycles of L the goals may cost; L is then a goal itself, "length".
  std::optional<Cycle> length_slack = {};
};

/// What is true of all schedules, as far as the enumeration came.
struct Truth {
  bool finished = false;            ///< all that follows is exact
  std::optional<Schedule> best;     ///< smallest I, then L (within the slack), then the goals
  Cycle ii = 1;                     ///< there is no schedule of a smaller I
  Cycle length = 0;                 ///< there is no shorter one at that I; 0 = nothing known
  std::vector<std::int64_t> goals;  ///< of `best`, where the goals were finished
  std::int64_t nodes = 0;           ///< partial schedules that were looked at
};

/// Enumerates. Exact unless it would look at more than `most_nodes` partial schedules: then what
/// is said so far is true, and `finished` is false. For a handful of ops with small numbers.
Truth every_schedule(const Problem& problem, const TruthAsked& asked, std::int64_t most_nodes);

/// Where there is a schedule at any I, there is one at most at this: see the head of the source.
Cycle enough_interval(const Problem& problem);

/// The first rule that a schedule breaks, "" = none: rows counted modulo I, starts, slots, pins and
/// what was asked.
std::string broken_rule(const Problem& problem, const TruthAsked& asked, const Schedule& schedule);

/// "canonical" written out as start and slot of every op.
std::vector<std::string> all_goals(const Problem& problem, const std::vector<std::string>& names);

/// The goals of a question, written out, with "length" where L has a slack and nobody named it.
std::vector<std::string> goals_asked(const Problem& problem, const TruthAsked& asked);

/// What a goal measures in a schedule.
std::int64_t measured(const Problem& problem, const Schedule& schedule, const std::string& goal);

}  // namespace twill::test
