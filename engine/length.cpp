// The smallest length at a given initiation interval.
#include "engine/search.hpp"
#include "graph/tighten.hpp"
#include "graph/verify.hpp"

namespace twill {

Schedule shortened(const Problem& problem, const Schedule& schedule, Cycle stage_limit) {
  const Cycle ii = schedule.initiation_interval;
  auto tighter = tighten(problem, problem, schedule, ii, ii);
  const bool better = tighter && tighter->length < schedule.length &&
                      (stage_limit == 0 || stage_count(*tighter) <= stage_limit) &&
                      !verify(problem, *tighter);
  return better ? *std::move(tighter) : schedule;
}

bool smallest_length(const Search& search, Schedule& best, Cycle& low, Cycle stage_limit) {
  best = shortened(search.problem, best, stage_limit);
  search.report.state().ii_high = best.initiation_interval;
  search.report.state().length_low = low;
  search.report.state().length_high = best.length;
  search.report.phase("shorten");
  search.engine.shorten(search, best, low, stage_limit);
  search.report.phase("length");
  Shortest shortest = search.engine.shortest_within(search, best.initiation_interval, low,
                                                    best.length - 1, stage_limit, {});
  if (shortest.best) best = *std::move(shortest.best);
  if (shortest.verdict == SatSolver::Answer::unknown) return false;
  search.report.state().length_low = low = best.length;
  return true;
}

}  // namespace twill
