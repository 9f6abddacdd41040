// The list scheduler (graph/list_scheduling/) as a part of the searches for the smallest interval.
#include <vector>

#include "engine/search.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/list_scheduling/list_schedule.hpp"

namespace twill {

// Formulas of fewer ops find schedules faster.
constexpr std::size_t kFewOps = 70;
constexpr std::int64_t kShorter = 50;  // ListScheduleOptions::effort, for the length of a schedule

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

void shorten_listed(const Search& search, Schedule& best) {
  if (search.problem.ops.size() <= kManyOps) return;
  const std::vector<Bound> bounds = length_bounds(search.problem, best.initiation_interval);
  shorten_by_list(search, best, bounds.empty() ? 1 : bounds.front().value, kShorter);
}

void shorten_by_list(const Search& search, Schedule& best, Cycle low, std::int64_t effort) {
  ListScheduleOptions options;
  options.effort = effort;
  options.seed = search.seed;
  options.stop = [&] { return search.budget.spent(); };
  const Schedule shorter = list_shorten(search.problem, best, low, options);
  if (shorter.length < best.length &&
      (search.stage_limit == 0 || stage_count(shorter) <= search.stage_limit))
    best = shorter;
}

}  // namespace twill
