// The list scheduler (graph/list_scheduling/) as a part of the searches for the smallest interval.
#include <vector>

#include <utility>
#include "engine/search.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/list_scheduling/list_schedule.hpp"
#include "graph/log.hpp"

namespace twill {

// Formulas of fewer ops find schedules faster.
constexpr std::size_t kFewOps = 70;
constexpr std::int64_t kShorter = 50;   // ListScheduleOptions::effort, for the length of a schedule
constexpr std::int64_t kAlone = 2'000;  // and for one iteration alone

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
  if (search.problem.ops.size() > kManyOps) {
    ListScheduleOptions alone = options;
    alone.effort = kAlone;
    options.from = list_justified(search.problem, low, alone);
    if (options.from)
      TWILL_LOG("one iteration alone: I = ", options.from->initiation_interval,
                ", L = ", options.from->length);
  }
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
  const Cycle ii = best.initiation_interval;
  ListScheduleOptions alone = options;
  alone.effort = kAlone * effort / kShorter;
  Schedule shorter = best;
  if (const auto one = list_justified(search.problem, ii, alone);
      one && one->initiation_interval == ii && one->length < shorter.length)
    shorter = *one;
  TWILL_LOG("one iteration alone: L = ", shorter.length);
  shorter = list_shorten(search.problem, shorter, low, options);
  if (shorter.length < best.length &&
      (search.stage_limit == 0 || stage_count(shorter) <= search.stage_limit))
    best = shorter;
}

}  // namespace twill
