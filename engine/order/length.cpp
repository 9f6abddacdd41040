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
#include <algorithm>
#include <optional>
#include <vector>

#include "engine/order/luby.hpp"
#include "engine/order/order.hpp"
#include "engine/order/question.hpp"
#include "engine/race.hpp"

namespace twill::order {
namespace {

constexpr Cycle kTightness = 16;
constexpr std::int64_t kFirstModelConflicts = 500;  // times the Luby sequence
constexpr std::int64_t kNextModelConflicts = 2'000;
constexpr int kLengthAttempts = 15;  // that sequence, once 8

// An attempt to find schedules of at most this length, and then shorter ones.
struct LengthPlan {
  Cycle deadline = 0, low = 0;  // low: proved
  int number = 0;               // of the seed
  std::int64_t limit = 0;       // conflicts of the first question; 0 = none
  bool at_once = false;         // OrderRequest::at_once
  bool operator==(const LengthPlan&) const = default;
};
struct LengthOutcome {
  std::vector<Schedule> found;  // each shorter than the one before
  bool refuted = false;         // none is shorter than the last, or than the deadline
  bool overflowed = false;      // Question::overflowed()
};

// What is tried in turn, as long as nothing decides.
class LengthTurn {
 public:
  LengthTurn(Cycle ii, Cycle low, Cycle high)
      : ii_(ii), low_(low), high_(high), slack_(low / kTightness + 1) {}

  Cycle low() const { return low_; }
  bool settled() const { return deadline() < low_; }
  void learn(const LengthPlan& plan, const LengthOutcome& outcome) {
    at_once_ = at_once_ || outcome.overflowed;
    if (!outcome.found.empty()) best_ = outcome.found.back().length;
    if (outcome.refuted) low_ = std::max(low_, outcome.found.empty() ? plan.deadline + 1 : *best_);
  }

  std::optional<LengthPlan> next() {
    if (settled()) return std::nullopt;
    if (!best_ && asked_ < high_) {
      const Cycle stage_end = (low_ / ii_ + 1) * ii_ - 1;  // one stage more has more variables
      Cycle deadline = std::min(low_ + slack_, high_);
      if (asked_ < stage_end) deadline = std::min(deadline, stage_end);
      slack_ *= 2;
      asked_ = deadline;
      return LengthPlan{deadline, low_, number_++, kFirstModelConflicts, at_once_};
    }
    if (++attempts_ > kLengthAttempts + 1) return std::nullopt;
    const bool last = attempts_ > kLengthAttempts;  // takes what it takes
    return LengthPlan{deadline(), low_, number_++,
                      last ? 0 : kFirstModelConflicts * luby(attempts_), at_once_};
  }

 private:
  Cycle deadline() const { return best_ ? *best_ - 1 : high_; }

  Cycle ii_, low_, high_, slack_, asked_ = -1;
  std::optional<Cycle> best_;
  int number_ = 0, attempts_ = 0;
  bool at_once_ = false;
};

}  // namespace

Shortest shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high, Cycle stage_limit,
                         const std::function<void(const Schedule&)>& found) {
  const auto attempt = [&](const LengthPlan& plan, Search& lane) {
    LengthOutcome outcome;
    lane.seed += static_cast<std::uint64_t>(plan.number);
    try {
      OrderRequest request = request_within(lane, ii, plan.deadline, stage_limit);
      request.at_once = plan.at_once;
      Question question(lane, std::move(request));
      Cycle deadline = plan.deadline;
      std::int64_t limit = plan.limit;
      while (deadline >= plan.low) {
        const Answer answer = question.ask(ii, deadline, limit);
        outcome.overflowed = question.overflowed();
        if (answer.verdict == SatSolver::Answer::unknown) return outcome;
        if (answer.verdict == SatSolver::Answer::unsat) break;
        outcome.found.push_back(shortened(search.problem, *answer.schedule, stage_limit));
        lane.report.state().length_high = outcome.found.back().length;
        deadline = outcome.found.back().length - 1;
        if (limit > 0) limit = std::max(limit, kNextModelConflicts);
      }
      outcome.refuted = true;
    } catch (const Budget::Spent&) {  // what was found counts
    }
    return outcome;
  };
  Race<LengthPlan, LengthOutcome> race(search, attempt);
  Shortest result{SatSolver::Answer::unknown, std::nullopt, low};
  LengthTurn turn(ii, low, high);
  while (std::optional<LengthPlan> plan = turn.next()) {
    std::vector<LengthPlan> later;
    for (LengthTurn ahead = turn; later.size() < race.lanes_ahead();) {
      const std::optional<LengthPlan> one = ahead.next();
      if (!one) break;
      later.push_back(*one);
    }
    const LengthOutcome outcome = race.take(*plan, later).outcome;
    for (const Schedule& schedule : outcome.found)
      if (found) found(schedule);
    if (!outcome.found.empty()) result.best = outcome.found.back();
    turn.learn(*plan, outcome);
    search.report.state().length_low = result.low = turn.low();
    if (result.best) search.report.state().length_high = result.best->length;
    if (search.budget.spent()) break;
  }
  if (turn.settled())
    result.verdict = result.best ? SatSolver::Answer::sat : SatSolver::Answer::unsat;
  return result;
}

}  // namespace twill::order
