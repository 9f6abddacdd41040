// Parts of a loop that nothing ties to each other, in as few stages as they can be together.
#pragma once

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// The same schedule with each weakly connected component later by a whole number of periods, so
/// that each slot's ops spread over few stages: the sum of those of all slots falls as far as one
/// component moved at a time brings it. I, L, the number of stages, what each op has at which
/// residue, and all lifetimes stay. (A part that waits for no load else runs far ahead of one that
/// does: a program has to be written for all iterations between.) `schedule` must be one that
/// verify() accepts; where verify() refuses what comes out (orders that the problem asks for
/// between parts) it is `schedule`.
Schedule moved_together(const Problem& problem, const Schedule& schedule);

}  // namespace twill
