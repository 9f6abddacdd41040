// A loop with a loop inside it: some ops of a problem run several times in each of its iterations.
//
// Edges between inner ops have distances in inner iterations; what would come from before the first
// of a run or go beyond the last does not exist. An edge into an inner op is used by all of its
// iterations, an edge out of one is of its last iteration; their distances are outer iterations.
//
//   flat_problem()    every inner iteration unrolled: the outer loop as an ordinary problem, for
//                     few trips. All schedules of the nest.
//   inner_problem()   the inner loop alone.
//   nested_problem()  rule 12: the inner loop with a given schedule, its parts, one a slot, at
//   fixed
//                     offsets. All schedules of the nest whose runs are those of the inner schedule
//                     and whose slots execute a run's code without other ops between; exact, but
//                     that rings of the inner loads keep their depth from run to run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

struct NestedLoop {
  Problem problem;         ///< both levels, each op once; no inner loops of its own
  std::vector<int> inner;  ///< ops of the inner loop, ascending
  std::int64_t trips = 1;  ///< of a run, >= 1
  std::string name = "inner";
};

/// Throws InputError where this is no nested loop: an unknown op, no op, all of them, too many
/// instances, pins to cycles, a load of the inner loop that is used outside.
void check(const NestedLoop& nest, const std::string& source = "nested loop");

/// The inner ops and the edges and pins among them; where some wait for outer results, one more op
/// of no cycles, "(outside)", for which they wait. Memories keep what results from outside that are
/// used inside leave of them.
Problem inner_problem(const NestedLoop& nest);

/// What the outer loop needs of each memory, at the least, while the inner loop runs or not: its
/// loads' charged buffers, and the most that another result takes. What inner_problem() knows of is
/// left out.
std::vector<Amount> outer_room(const NestedLoop& nest);

/// Outer ops first, then "op#k" for each inner op and k = 0 .. trips - 1.
Problem flat_problem(const NestedLoop& nest);

/// With the inner loop as inner_problem() has it and `inner` a schedule of that. Outer ops first,
/// then the parts: "NAME.SLOT" the code of a slot; "op@first", "op@last" the first and last issue
/// of an op that uses outer results, "op@result" one whose result is used outside;
/// "NAME.SLOT+CYCLES", "NAME.memory.MEMORY+CYCLES" and the like instants, and what is held from
/// then.
Problem nested_problem(const NestedLoop& nest, const Schedule& inner);

/// What a schedule of nested_problem() is as one of flat_problem().
Schedule flat_schedule(const NestedLoop& nest, const Schedule& inner, const Problem& nested,
                       const Schedule& schedule);

}  // namespace twill
