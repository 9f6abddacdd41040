// The smallest initiation interval by the order engine.
//
// Where feasibility is monotone in I: from the serial interval, at which only orders matter, down.
// Every model is tightened by its orders (graph/tighten.hpp), and the next question is one cycle
// below what that gives, so that few questions are asked whatever the number of cycles. One formula
// stands for any number of stages and for all I in between, and what was learned is kept, so that
// its last refutation is the proof. Schedules at the bound, where many loops are done, are looked
// for first, within few stages. Elsewhere: upward from the bound, one formula an I.
#include <memory>

#include "engine/order/luby.hpp"
#include "engine/order/order.hpp"
#include "engine/order/question.hpp"
#include "graph/length_bound.hpp"
#include "graph/serial.hpp"
#include "graph/stage_bound.hpp"
#include "graph/tighten.hpp"

namespace twill::order {
namespace {

constexpr Cycle kFewStages = 4;
constexpr std::int64_t kProbeConflicts = 1'000;
constexpr std::int64_t kAttemptConflicts = 500;  // times the Luby sequence
constexpr int kFirstAttempts = 5;
constexpr int kAttempts = 15;  // more

// All schedules, or those within the stage limit, which may not be rotated: that can add a stage.
// Where the limit excludes nothing there is none. (The bound is a convex function of 1 / I, so it
// is largest at an end of the range.)
OrderRequest interval_request(const Search& search, Cycle low, Cycle high, Cycle stage_limit) {
  const auto excludes_nothing = [&](Cycle ii) {
    return stage_limit > stage_bound(search.problem, ii);
  };
  const bool any = stage_limit == 0 || (excludes_nothing(low) && excludes_nothing(high));
  OrderRequest request = request_of(search, any);
  request.ii_high = high;
  request.ii_low = order_range_allowed(search.problem, low, high) ? low : high;
  request.stages = any ? 0 : stage_limit;
  return request;
}

// Few of them: that leaves most searches for a schedule less to look at.
OrderRequest few_stages_request(const Search& search, Cycle ii, Cycle stage_limit) {
  OrderRequest request = interval_request(search, ii, ii, stage_limit);
  if (request.stages == 0 || request.stages > kFewStages) request.stages = kFewStages;
  return request;
}

class Descent {
 public:
  Descent(const Search& search, Interval& interval, Cycle stage_limit)
      : search_(search), seed_(search.seed), interval_(interval), stage_limit_(stage_limit) {}

  // From `last` down until the bound is met or a question is refuted (both unsat), or the budget is
  // spent (unknown).
  SatSolver::Answer run(Cycle last) {
    for (int i = 0; i < kFirstAttempts && at_bound_ == SatSolver::Answer::unknown; ++i)
      attempt_at_bound(i, kAttemptConflicts);
    SatSolver::Answer verdict = interval_.best ? SatSolver::Answer::sat : attempt(last, 0, 0);
    // Each question just below the best so far. (Halving the gap instead asks in vain below the
    // optimum, and what is learned there is of no use above: 1.3 to 1.9 times the conflicts on the
    // attention graphs.)
    while (verdict == SatSolver::Answer::sat) {
      if (interval_.best->initiation_interval == interval_.low) return SatSolver::Answer::unsat;
      verdict = ask(below(), kProbeConflicts);
      if (verdict == SatSolver::Answer::unknown) verdict = attempt_anew();
    }
    return verdict;
  }

 private:
  Cycle below() const { return interval_.best->initiation_interval - 1; }

  // How long a question takes varies by orders of magnitude from seed to seed (Gomes, Selman and
  // Kautz, AAAI 1998): short attempts with new seeds, in turns at the bound and just below the
  // best, until one has an answer; the last one takes what it takes.
  SatSolver::Answer attempt_anew() {
    while (attempts_ < kAttempts && !search_.budget.spent()) {
      const bool at_bound = ++attempts_ % 2 == 1 && at_bound_ == SatSolver::Answer::unknown;
      const int number = kFirstAttempts + attempts_ - 1;
      const std::int64_t limit = kAttemptConflicts * luby(attempts_);
      if (at_bound) {
        attempt_at_bound(number, limit);
        if (at_bound_ == SatSolver::Answer::sat) return at_bound_;
      } else if (const auto verdict = attempt(below(), number, limit);
                 verdict != SatSolver::Answer::unknown) {
        return verdict;
      }
    }
    return ask(below(), 0);
  }

  // Twice among short schedules only, since few variables and a tight deadline find one sooner,
  // then once with few stages, or at once where there is no short one: that can show that there is
  // no use in trying. (hopper-bwd-sub2 at its bound: half of the attempts of 500 conflicts among
  // short schedules find one, a quarter of those with few stages.) Refutations here prove nothing
  // about other schedules.
  void attempt_at_bound(int number, std::int64_t limit) {
    const Cycle ii = interval_.low;
    const bool few_stages = at_bound_attempts_++ % 3 == 2 || none_short_;
    OrderRequest request = few_stages_request(search_, ii, stage_limit_);
    Cycle deadline = 0;
    if (!few_stages) {
      const std::vector<Bound> bounds = length_bounds(search_.problem, ii);
      if (bounds.empty()) return;
      deadline = bounds.front().value + bounds.front().value / 4 * (1 + number % 2);
      request = request_within(search_, ii, deadline, stage_limit_);
    }
    reseed(number);
    const Answer answer = Question(search_, request).look(ii, deadline, limit);
    if (answer.schedule) accept(*answer.schedule);
    if (few_stages || answer.schedule)
      at_bound_ = answer.verdict;
    else
      none_short_ = answer.verdict == SatSolver::Answer::unsat;
  }

  SatSolver::Answer attempt(Cycle ii, int number, std::int64_t limit) {
    reseed(number);
    return ask(ii, limit);
  }

  void reseed(int number) {
    question_.reset();
    search_.seed = seed_ + static_cast<std::uint64_t>(number);
  }

  // One formula serves as long as I falls, where it may.
  SatSolver::Answer ask(Cycle ii, std::int64_t limit) {
    if (!question_ || ii < lowest_) {
      const OrderRequest request = interval_request(search_, interval_.low, ii, stage_limit_);
      lowest_ = request.ii_low;
      question_ = std::make_unique<Question>(search_, request);
    }
    const Answer answer = question_->ask(ii, 0, limit);
    if (answer.schedule) accept(*answer.schedule);
    return answer.verdict;
  }

  void accept(const Schedule& model) {
    const Cycle ii = model.initiation_interval;
    if (!improve(search_.problem, interval_.best,
                 tighten_within(search_.problem, search_.problem, model, interval_.low, ii,
                                stage_limit_),
                 stage_limit_))
      interval_.best = model;
    search_.report.state().ii_high = interval_.best->initiation_interval;
    search_.report.tell();
  }

  Search search_;
  std::uint64_t seed_;
  Interval& interval_;
  Cycle stage_limit_;
  std::unique_ptr<Question> question_;
  Cycle lowest_ = 1;  // I that the question is good for
  SatSolver::Answer at_bound_ = SatSolver::Answer::unknown;
  bool none_short_ = false;
  int attempts_ = 0, at_bound_attempts_ = 0;
};

}  // namespace

Answer ask_complete(const Search& search, Cycle ii, Cycle stage_limit) {
  try {
    Answer few =
        Question(search, few_stages_request(search, ii, stage_limit)).look(ii, 0, kProbeConflicts);
    if (few.schedule) return few;
    return Question(search, interval_request(search, ii, ii, stage_limit)).ask(ii);
  } catch (const Budget::Spent&) {
    return {};
  }
}

Interval smallest_interval(const Search& search, Cycle low, Cycle stage_limit) {
  Interval interval;
  interval.low = low;
  search.report.state().ii_low = low;
  if (latest_pinned_cycle(search.problem) > 0)
    return interval_with_pinned_cycles(search, std::move(interval), stage_limit);
  if (!monotone_in_ii(search.problem)) {
    if (!serial_schedule(search, serial_problem(search.problem), stage_limit, interval))
      return interval;
    search.report.phase("interval");
    return ascend(search, std::move(interval), stage_limit);
  }
  search.report.phase("interval");
  Descent descent(search, interval, stage_limit);
  try {
    if (descent.run(std::max(low, serial_ii(search.problem))) != SatSolver::Answer::unsat)
      return interval;
  } catch (const Budget::Spent&) {
    return interval;
  }
  interval.none = !interval.best;
  if (interval.best) interval.low = interval.best->initiation_interval;
  return interval;
}

}  // namespace twill::order
