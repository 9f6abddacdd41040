// The list scheduler (graph/list_scheduling/) as a part of the searches for the smallest interval.
#include "engine/search.hpp"
#include "graph/list_scheduling/list_schedule.hpp"

namespace twill {

// Formulas of fewer ops find schedules faster.
constexpr std::size_t kFewOps = 70;

bool list_can_answer(const Search& search) {
  const PlacementRequest& placement = search.placement;
  const PlacementLimits& limits = placement.limits;
  return search.problem.ops.size() > kFewOps && placement.handover && !placement.parts &&
         limits.counts.empty() && limits.lifetime < 0 && limits.precedences.empty() &&
         limits.latest.empty() && search.goals.empty();
}

std::optional<Schedule> by_list(const Search& search, Cycle low) {
  ListScheduleOptions options;
  options.seed = search.seed;
  options.stop = [&] { return search.budget.spent(); };
  return list_schedule(search.problem, low, options);
}

void shorten_by_list(const Search& search, Schedule& best, Cycle low) {
  ListScheduleOptions options;
  options.seed = search.seed;
  options.stop = [&] { return search.budget.spent(); };
  const Schedule shorter = list_shorten(search.problem, best, low, options);
  if (shorter.length < best.length &&
      (search.stage_limit == 0 || stage_count(shorter) <= search.stage_limit))
    best = shorter;
}

}  // namespace twill
