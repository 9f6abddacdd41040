// Schedules of projects without most times, by serial schedule generation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/problem.hpp"

namespace twill::bench {

/// Starts of a schedule that is short: lists by latest starts, disturbed at random, each scheduled
/// serially and then to the right and to the left again as long as that helps; later lists begin
/// from the best. Ends at `passes` lists or where the makespan is `low`. Nullopt where distances,
/// cycles or ops are not such a project's, or too many. (Kelley, "The critical-path method:
/// resources planning and scheduling", 1963; Valls, Ballestin and Quintanilla, "Justification and
/// RCPSP: a technique that pays", EJOR 165, 2005.)
std::optional<std::vector<Cycle>> first_schedule(const Problem& problem, Cycle low, int passes,
                                                 std::uint64_t seed);

}  // namespace twill::bench
