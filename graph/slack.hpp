// How much later results may come without an edge being broken.
#pragma once

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// The least of M(v) + distance I - M(u) - delay - spill (where the slots differ) over all edges,
/// but those of streaming loads, which have no delays. In cycles; at most I, since more is as good,
/// and I for a loop without edges; >= 0 where rules 1 and 7 hold.
Cycle least_slack(const Problem& problem, const Schedule& schedule);

/// The problem whose schedules are those of `problem` with a least slack of `slack` >= 0 or more
/// (slack <= I): all these delays are so much longer. Nothing but rules 1 and 7 knows of delays.
/// Throws InputError where a delay would exceed kMaxCycles.
Problem with_slack(const Problem& problem, Cycle slack);

}  // namespace twill
