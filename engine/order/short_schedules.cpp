#include "engine/order/short_schedules.hpp"

#include <algorithm>
#include <utility>

#include "engine/order/order.hpp"
#include "graph/log.hpp"

namespace twill::order {
namespace {

constexpr std::int64_t kShorterConflicts = 2'000;
constexpr std::int64_t kHintedShare = 4;  // of the limit

}  // namespace

OrderRequest short_request(const Search& search, Cycle low, Cycle high, Cycle deadline) {
  OrderRequest request = request_within(search, high, deadline);
  request.ii_low = low;
  request.stages = std::max(request.stages, stages_within(search, low, deadline));
  return request;
}

// With the same orders L rises with I, so that what is learned need not hold at a smaller I: a
// refutation there is a hint, and is asked again.
Verdict look_below(const Search& search, const OrderRequest& request, Cycle deadline,
                   std::int64_t limit, std::vector<Schedule>& found) {
  const Cycle low = request.ii_low;
  bool hinted = false;
  for (Cycle ii = request.ii_high; ii >= low; hinted = true) {
    OrderRequest anew = request;
    anew.ii_high = ii;
    if (anew.full_units.ii > 0) anew.full_units.ii = ii;
    IncrementalSolver solver(search, std::move(anew));
    solver.only_look();
    const Cycle begin = ii;
    while (ii >= low) {
      const bool again = hinted && ii == begin;
      Answer answer =
          solver.look(ii, deadline, again ? (limit + kHintedShare - 1) / kHintedShare : limit);
      if (answer.verdict == Verdict::unsat && ii < begin) break;
      if (!answer.schedule) return again ? Verdict::unsat : answer.verdict;
      ii = answer.schedule->initiation_interval;
      auto tight = tighten_within(search, search.problem, *answer.schedule, low, ii);
      found.push_back(tight ? *std::move(tight) : *std::move(answer.schedule));
      ii = found.back().initiation_interval - 1;
      TWILL_LOG("a short schedule: I = ", ii + 1, ", L = ", found.back().length);
    }
  }
  return Verdict::sat;
}

void look_shorter(const Search& search, IncrementalSolver& solver, std::vector<Schedule>& found) {
  for (;;) {
    found.back() = shortened(search, found.back());
    if (found.back().length == 0) return;
    Answer answer =
        solver.look(found.back().initiation_interval, found.back().length - 1, kShorterConflicts);
    if (!answer.schedule) return;
    found.push_back(*std::move(answer.schedule));
  }
}

}  // namespace twill::order
