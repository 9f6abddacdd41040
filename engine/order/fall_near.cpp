// Smaller intervals near a schedule that is short: large neighbourhood search (neighbourhoods.hpp)
// with one formula of all I down to the one that is asked for, and of lengths that are little more
// than the schedule's.
//
// One iteration alone (graph/list_scheduling/list_justify.cpp) finds what is nearly as short as can
// be; what keeps its I from being smaller is a few ops where iterations meet. The deadline keeps
// the formula small, of two stages mostly, and near the schedule each question takes some ten
// conflicts. From nothing the same formula finds no schedule in thousands (bench/results/hard.md).
#include <algorithm>

#include "engine/order/incremental_solver.hpp"
#include "engine/order/neighbourhoods.hpp"
#include "engine/order/order.hpp"
#include "graph/log.hpp"

namespace twill::order {
namespace {

constexpr Cycle kLongerShare = 64;             // what is found is longer by one in so many
constexpr Cycle kTooFarShare = 8;              // of I, above what is asked for
constexpr Cycle kFewPeriods = 8;               // of schedules and delays
constexpr std::int64_t kFallConflicts = 100;   // of a neighbourhood
constexpr std::int64_t kFallPatience = 1'500;  // since the last schedule
constexpr std::int64_t kMostFallConflicts = 6'000;
constexpr int kFallRounds =
    200;  // since the last schedule: what is refuted at once goes on for ever
// Of so many ops. A conflict of more ops costs more, by the square, and the list scheduler comes
// after it: there are fewer.
constexpr std::int64_t kFallOps = 200, kFewestConflicts = 20;

std::int64_t fewer_conflicts(std::int64_t conflicts, std::size_t ops) {
  const auto n = std::max(kFallOps, static_cast<std::int64_t>(ops));
  return std::max(kFewestConflicts, conflicts * kFallOps * kFallOps / (n * n));
}

void fall(const Search& search, Schedule& best, Cycle low) {
  const Cycle deadline = best.length + best.length / kLongerShare;
  OrderRequest request = request_within(search, best.initiation_interval - 1, deadline);
  request.ii_low = low;
  request.stages = std::max(request.stages, stages_within(search, low, deadline));
  request.at_once = true;
  IncrementalSolver solver(search, std::move(request));
  solver.only_look();
  Neighbourhoods neighbourhoods(search.problem, search.seed);
  neighbourhoods.around(best);
  const std::size_t ops = search.problem.ops.size();
  const std::int64_t each = fewer_conflicts(kFallConflicts, ops),
                     patience = fewer_conflicts(kFallPatience, ops),
                     most = fewer_conflicts(kMostFallConflicts, ops);
  const std::int64_t first = search.budget.conflicts();
  std::int64_t begin = first;
  for (int round = 0; round < kFallRounds && !search.budget.spent(); ++round) {
    const std::int64_t before = search.budget.conflicts();
    if (before - begin >= patience || before - first >= most) break;
    const Answer answer =
        solver.look_near(best, neighbourhoods.next(), best.initiation_interval - 1, each, deadline);
    if (answer.schedule) {
      const Cycle ii = answer.schedule->initiation_interval;
      const auto tight = tighten_within(search, search.problem, *answer.schedule, low, ii);
      best = tight ? *tight : *answer.schedule;
      TWILL_LOG("near a short schedule: I = ", best.initiation_interval, ", L = ", best.length);
      if (best.initiation_interval <= low) return;
      neighbourhoods.around(best);
      begin = search.budget.conflicts();
      round = -1;
    } else if (search.budget.conflicts() - before < each) {
      neighbourhoods.refuted();
    } else {
      neighbourhoods.left_open();
    }
  }
}

// Formulas have clauses for every number of periods that a delay can take, at any I of theirs.
bool takes_few_periods(const Problem& problem, const Schedule& schedule, Cycle low) {
  const Cycle most = kFewPeriods * low;
  return schedule.length <= most &&
         std::all_of(problem.edges.begin(), problem.edges.end(),
                     [&](const Edge& e) { return e.delay + spill_of(problem, e) <= most; });
}

}  // namespace

void fall_near(const Search& search, Schedule& best, Cycle low) {
  const Cycle ii = best.initiation_interval;
  if (ii <= low || ii > low + low / kTooFarShare || search.problem.ops.size() > kMostNear ||
      !takes_few_periods(search.problem, best, low) ||
      !order_range_allowed(search.problem, low, ii - 1))
    return;
  search.budget.complete([&] { fall(search, best, low); });
}

}  // namespace twill::order
