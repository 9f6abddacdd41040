// A shorter schedule near one that is known, at its initiation interval: large neighbourhood search
// (neighbourhoods.hpp) with one formula, whose deadline falls from schedule to schedule.
//
// The formulas of length.cpp begin from nothing. Where the interval is tight each of them takes
// thousands of conflicts to find any schedule at it, though one is known; near that one a hundred
// conflicts decide (bench/results/hard.md). Small loops, and those whose interval was found easily,
// do without: their formulas find the shortest schedule as soon. Of loops of many ops that is so
// however the interval was found.
#include <algorithm>

#include "engine/order/copies.hpp"
#include "engine/order/incremental_solver.hpp"
#include "engine/order/neighbourhoods.hpp"
#include "engine/order/order.hpp"
#include "graph/log.hpp"

namespace twill::order {
namespace {

constexpr std::size_t kSmallLoop = 40;
constexpr std::int64_t kHard = 6'000;           // conflicts so far
constexpr std::int64_t kHardForCopies = 1'000;  // the same, where a loop is unrolled
constexpr std::int64_t kConflicts = 100;        // of a neighbourhood
constexpr std::int64_t kPatience = 4'000;       // since the last schedule
constexpr std::int64_t kListEffort = 200;       // ListScheduleOptions
constexpr int kRounds = 200;                    // the same
// Of a loop of many ops a schedule that is longer than the bound by one in so many at the most:
// what is near it comes before the list scheduler, with so many conflicts at first.
constexpr Cycle kShortShare = 16;
constexpr std::int64_t kFirstNear = 8'000;

}  // namespace

void shorten_near(const Search& search, Schedule& best, Cycle low, std::int64_t most) {
  const Cycle ii = best.initiation_interval;
  OrderRequest request = request_within(search, ii, best.length - 1);
  request.at_once = true;
  if (search.budget.conflicts() >= kLong) request.full_units.ii = ii;
  IncrementalSolver solver(search, std::move(request));
  solver.only_look();
  Neighbourhoods neighbourhoods(search.problem, search.seed, Neighbourhoods::Aim::length);
  neighbourhoods.around(best);
  const std::int64_t first = search.budget.conflicts();
  std::int64_t begin = first;
  for (int round = 0; round < kRounds && best.length > low && !search.budget.spent(); ++round) {
    const std::int64_t before = search.budget.conflicts();
    if (before - begin >= kPatience || (most > 0 && before - first >= most)) break;
    const Answer answer =
        solver.look_near(best, neighbourhoods.next(), ii, kConflicts, best.length - 1);
    if (answer.schedule) {
      best = shortened(search, *answer.schedule);
      TWILL_LOG("shortened to L = ", best.length);
      search.report.state().length_high = best.length;
      neighbourhoods.around(best);
      begin = search.budget.conflicts();
      round = -1;
    } else if (search.budget.conflicts() - before < kConflicts) {
      neighbourhoods.refuted();
    } else {
      neighbourhoods.left_open();
    }
  }
}

void shorten(const Search& search, Schedule& best, Cycle low) {
  const std::size_t ops = search.problem.ops.size();
  if (best.length <= low || ops < kSmallLoop) return;
  const bool many = ops > kManyOps || search.budget.conflicts() >= kHardForCopies;
  if (!many && search.budget.conflicts() < kHard) return;
  const bool near = ops > kManyOps && ops <= kMostNear && list_can_answer(search);
  search.budget.complete([&] {
    if (const auto rolled = many ? rolled_of(search) : std::nullopt)
      if (auto shorter = shorter_by_copies(search, *rolled, best)) {
        best = shortened(search, *shorter);
        search.report.state().length_high = best.length;
      }
    if (near && best.length > low && best.length <= low + low / kShortShare)
      shorten_near(search, best, low, kFirstNear);
    if (ops > kManyOps && best.length > low && list_can_answer(search)) {
      shorten_by_list(search, best, low, kListEffort);
      TWILL_LOG("shortened by the list scheduler to L = ", best.length);
      search.report.state().length_high = best.length;
    }
    if (best.length > low && (near || search.budget.conflicts() >= kHard))
      shorten_near(search, best, low, 0);
  });
}

}  // namespace twill::order
