#include "engine/sturdiest.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "engine/decide.hpp"
#include "engine/limits_left.hpp"
#include "engine/options.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/slack.hpp"

namespace twill {
namespace {

/// Arithmetic: no circle of edges has so much, nor an edge that could not be written.
Cycle least_refuted(const Problem& problem, Cycle ii) {
  Cycle longest = 0;
  for (const Edge& e : problem.edges) longest = std::max(longest, e.delay);
  const Cycle most = std::min(ii, kMaxCycles - longest);
  const auto excluded = [&](Cycle slack) {
    const std::optional<Bound> bound = rec_mii(with_slack(problem, slack), false);
    return bound && bound->value > ii;
  };
  Cycle low = 0, high = most + 1;
  while (high - low > 1) {
    const Cycle middle = low + (high - low) / 2;
    (excluded(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

Sturdiest make_sturdiest(const Problem& problem, const Options& options, Solution& solution,
                         std::stop_token stop) {
  const Cycle ii = solution.schedule->initiation_interval;
  LimitsLeft left(options, stop);
  Sturdiest found{std::max<Cycle>(least_slack(problem, *solution.schedule), 0),
                  least_refuted(problem, ii)};
  Options asked = options;
  drop_goals(asked);
  asked.evidence = false;
  asked.ii = ii;
  asked.iterations = 0;
  asked.better_than.reset();
  asked.explain = false;
  const auto spent = [&](std::int64_t conflicts, double seconds) {
    left.took(conflicts);
    solution.conflicts += conflicts;
    solution.seconds += seconds;
  };
  bool open = false;
  while (found.refuted - found.slack > 1 && !open && !left.spent()) {
    const Cycle middle = found.slack + (found.refuted - found.slack) / 2;
    const Decided answer =
        decide_interval(with_slack(problem, middle), ii, left.of(asked), left.stop());
    spent(answer.conflicts, answer.seconds);
    if (answer.verdict == Verdict::sat) found.slack = middle;
    if (answer.verdict == Verdict::unsat) found.refuted = middle;
    open = answer.verdict == Verdict::unknown;
  }
  const Solution last = solve(with_slack(problem, found.slack), left.of(asked), left.stop());
  spent(last.conflicts, last.seconds);
  if (cut_short(last.stop))
    set_stop(solution, last.stop);
  else if (found.refuted - found.slack > 1)
    set_stop(solution, left.stop().stop_requested() ? Stop::interrupt
                       : options.conflict_limit > 0 ? Stop::conflict_limit
                       : options.time_limit > 0     ? Stop::time_limit
                                                    : Stop::memory_limit);
  if (!last.schedule) {  // a limit: what was found before remains
    found.slack = std::max<Cycle>(least_slack(problem, *solution.schedule), 0);
    return found;
  }
  if (verify(problem, *last.schedule) || least_slack(problem, *last.schedule) < found.slack)
    throw std::logic_error("a schedule that was found misses the goal slack");
  found.slack =
      least_slack(problem, *last.schedule);  // more than was asked, where a limit ended it
  solution.schedule = last.schedule;
  solution.length_lower_bound = last.length_lower_bound;
  solution.max_stages = std::max(solution.max_stages, last.max_stages);
  if (last.status != Status::optimal) solution.status = Status::feasible;
  return found;
}

}  // namespace twill
