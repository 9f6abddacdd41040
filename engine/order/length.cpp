// The smallest length at a given initiation interval by the order engine: D falls from model to
// model, each tightened by its orders.
#include "engine/order/order.hpp"
#include "engine/order/question.hpp"

namespace twill::order {

Shortest shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high, Cycle stage_limit,
                         const std::function<void(const Schedule&)>& found) {
  Shortest result{SatSolver::Answer::unknown, std::nullopt, low};
  try {
    if (high >= low) {
      OrderRequest request = request_of(search);
      request.ii_low = request.ii_high = ii;
      request.stages = high / ii + 1;  // a zero-cycle op may start at `high` itself
      if (stage_limit > 0) request.stages = std::min(request.stages, stage_limit);
      request.deadline = true;
      Question question(search, request);
      while (high >= low) {
        const Answer answer = question.ask(ii, high);
        if (answer.verdict == SatSolver::Answer::unknown) return result;
        if (answer.verdict == SatSolver::Answer::unsat) break;
        result.best = shortened(search.problem, *answer.schedule, stage_limit);
        high = result.best->length - 1;
        if (found) found(*result.best);
      }
    }
  } catch (const Budget::Spent&) {
    return result;
  }
  // Nothing at `high` or below: whatever was found is the shortest.
  result.low = result.best ? result.best->length : high + 1;
  result.verdict = result.best ? SatSolver::Answer::sat : SatSolver::Answer::unsat;
  return result;
}

}  // namespace twill::order
