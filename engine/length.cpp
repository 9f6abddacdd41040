// The smallest length at a given initiation interval.
#include <algorithm>

#include "encoders/order/order.hpp"
#include "engine/search.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/verify.hpp"

namespace twill {

// Where they are many there are fewer in which a schedule as short can be had
// (graph/bounds/stage_bound.hpp): no start moves later. Goals may speak of stages.
Cycle stages_within(const Search& search, Cycle ii, Cycle deadline) {
  Cycle stages = deadline / ii + 1;  // a zero-cycle op may start at `deadline` itself
  if (stages > kManyStages && search.goals.empty() && search.placement.limits.lifetime < 0)
    stages = std::min(stages, stage_bound(search.problem, ii));
  return search.stage_limit > 0 ? std::min(stages, search.stage_limit) : stages;
}

// Where there is a schedule at this I, there is one of at most this length: it needs no more stages
// than the bound, and an op that starts in the last of them may end behind it.
Cycle longest_needed(const Problem& problem, Cycle ii, Cycle stage_limit) {
  Cycle stages = stage_bound(problem, ii), longest = 1;
  if (stage_limit > 0) stages = std::min(stages, stage_limit);
  for (const Op& op : problem.ops) longest = std::max(longest, op.cycles);
  return stages * ii - 1 + longest;
}

Schedule earliest(const Search& search, const Schedule& schedule) {
  const Problem& problem = search.problem;
  const Cycle ii = schedule.initiation_interval, stage_limit = search.stage_limit;
  auto tighter = tighten(problem, problem, schedule, ii, ii, [&] { return search.budget.spent(); });
  const bool better = tighter && tighter->length < schedule.length &&
                      (stage_limit == 0 || stage_count(*tighter) <= stage_limit) &&
                      !verify(problem, *tighter);
  return better ? *std::move(tighter) : schedule;
}

// Earlier starts can hold results for longer, or need deeper rings.
Schedule shortened(const Search& search, const Schedule& schedule) {
  Schedule shorter = earliest(search, schedule);
  for (const auto& [name, most] : search.goals)
    if (const GoalMeasure goal = parse_goal(search.problem, name);
        !goal.kind->before_length && goal_value(search.problem, shorter, goal) > most)
      return schedule;
  return shorter;
}

bool smallest_length(const Search& search, Schedule& best, Cycle& low) {
  best = earliest(search, best);
  search.report.state().ii_high = best.initiation_interval;
  search.report.state().length_low = low;
  search.report.state().length_high = best.length;
  search.report.phase("shorten");
  search.engine.shorten(search, best, low);
  search.report.phase("length");
  // (A first schedule can be far longer than any need be: the stages of its length would be asked.)
  const Cycle ii = best.initiation_interval;
  const Cycle high =
      std::min(best.length - 1, longest_needed(search.problem, ii, search.stage_limit));
  LengthResult shortest = search.engine.shortest_within(search, ii, low, high, {});
  if (shortest.best) best = *std::move(shortest.best);
  if (shortest.verdict == Verdict::unknown) {
    low = std::max(low, shortest.low);
    go_on_shortening(search, best, low);
  }
  const bool settled = shortest.verdict != Verdict::unknown;
  low = settled ? best.length : std::max(low, shortest.low);  // of refuted lengths there is none
  search.report.state().length_low = low;
  return settled;
}

}  // namespace twill
