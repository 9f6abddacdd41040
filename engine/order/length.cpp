// The smallest length at a given initiation interval by the order engine.
//
// D is a parameter that may only fall within one formula, so what is known to be long is not asked
// first: is there a schedule a sixteenth longer than the bound, an eighth, a quarter, ...? A tight
// deadline leaves few variables and decides many of them, so that models are found sooner than with
// a loose one, and refutations are easy and raise the proved bound; what is not settled soon is
// left. (hopper-bwd-sub2: 1,700 conflicts instead of 4,900.) The first model is short already. From
// there D falls from model to model, each tightened by its orders, until it is refuted. How long
// the first model takes varies by orders of magnitude from seed to seed, and most often it is
// short: so many seeds are given short attempts, and longer ones where a model came, before the
// last one takes what it takes. (hopper-bwd-sub2 at U = 300, seed 0: 19,000 conflicts with attempts
// of 2,000.)
#include "engine/order/luby.hpp"
#include "engine/order/order.hpp"
#include "engine/order/question.hpp"

namespace twill::order {
namespace {

constexpr Cycle kTightness = 16;
constexpr std::int64_t kFirstModelConflicts = 500;  // times the Luby sequence
constexpr std::int64_t kNextModelConflicts = 2'000;
constexpr int kLengthAttempts = 15;  // that sequence, once 8

}  // namespace

Shortest shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high, Cycle stage_limit,
                         const std::function<void(const Schedule&)>& found) {
  Shortest result{SatSolver::Answer::unknown, std::nullopt, low};
  // Asks for lengths of at most `deadline`, and shorter ones after each answer. True when the last
  // question was refuted, so that nothing is shorter than what was found. `limit` 0 = none.
  Search seeded = search;
  int number = 0;
  const auto descend = [&](Cycle deadline, std::int64_t limit) {
    seeded.seed = search.seed + static_cast<std::uint64_t>(number++);
    Question question(seeded, request_within(search, ii, deadline, stage_limit));
    while (deadline >= result.low) {
      const Answer answer = question.ask(ii, deadline, limit);
      if (answer.verdict == SatSolver::Answer::unknown) return false;
      if (answer.verdict == SatSolver::Answer::unsat) break;
      result.best = shortened(search.problem, *answer.schedule, stage_limit);
      if (found) found(*result.best);
      search.report.state().length_high = result.best->length;
      deadline = result.best->length - 1;
      if (limit > 0) limit = std::max(limit, kNextModelConflicts);
    }
    result.low = std::max(result.low, deadline + 1);
    search.report.state().length_low = result.low;
    return true;
  };
  try {
    Cycle asked = 0;
    for (Cycle slack = low / kTightness + 1; !result.best && result.low <= high; slack *= 2) {
      Cycle deadline = std::min(result.low + slack, high);
      const Cycle stage_end = (result.low / ii + 1) * ii - 1;  // one stage more has more variables
      if (asked < stage_end) deadline = std::min(deadline, stage_end);
      descend(asked = deadline, kFirstModelConflicts);
      if (search.budget.spent()) return result;
      if (deadline == high) break;
    }
    const auto deadline = [&] { return result.best ? result.best->length - 1 : high; };
    bool settled = deadline() < result.low;
    for (int i = 1; !settled && i <= kLengthAttempts; ++i) {
      settled = descend(deadline(), kFirstModelConflicts * luby(i));
      if (search.budget.spent()) return result;
    }
    if (!settled && !descend(deadline(), 0)) return result;
  } catch (const Budget::Spent&) {
    return result;
  }
  result.verdict = result.best ? SatSolver::Answer::sat : SatSolver::Answer::unsat;
  return result;
}

}  // namespace twill::order
