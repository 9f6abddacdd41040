// The smallest initiation interval by the order engine.
//
// Where feasibility is monotone in I: from the serial interval, at which only orders matter, down.
// Every model is tightened by its orders (graph/tighten.hpp), and the next question is one cycle
// below what that gives, so that few questions are asked whatever the number of cycles. The formula
// holds for all I in between, and what was learned is kept. Schedules are looked for within few
// stages; the proof is the refutation of the same formula with its end open, which stands for any
// number of stages, or, should that have a model, of one with all stages that can matter
// (graph/stage_bound.hpp). Elsewhere: upward from the bound, one formula an I.
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
constexpr std::int64_t kProbeConflicts = 2'000;
constexpr std::int64_t kAttemptConflicts = 500;  // times the Luby sequence
constexpr int kFirstAttempts = 3;
constexpr int kAttempts = 15;  // more

// Under a stage limit the schedule may not be rotated; without one, rotation can add a stage.
OrderRequest interval_request(const Search& search, Cycle low, Cycle high, Cycle stages,
                              bool rotated) {
  OrderRequest request = request_of(search, rotated);
  request.ii_high = high;
  request.ii_low = order_range_allowed(search.problem, low, high) ? low : high;
  request.stages = stages;
  return request;
}

// The stages that decide `ii`: so many, or few with an open end that may be enough.
struct Stages {
  Cycle count;
  bool rotated;
};
Stages deciding_stages(const Search& search, Cycle ii, Cycle stage_limit) {
  const Cycle enough = stage_bound(search.problem, ii);
  if (stage_limit > 0 && stage_limit <= enough) return {stage_limit, false};
  return {enough + 1, true};
}

std::unique_ptr<Question> complete_question(const Search& search, Cycle low, Cycle high,
                                            Stages stages) {
  return std::make_unique<Question>(
      search, interval_request(search, low, high, stages.count, stages.rotated));
}

std::unique_ptr<Question> few_stages_question(const Search& search, Cycle low, Cycle high,
                                              Stages stages) {
  OrderRequest request =
      interval_request(search, low, high, std::min(stages.count, kFewStages), stages.rotated);
  request.open_ended = stages.count > kFewStages;
  return std::make_unique<Question>(search, request);
}

class Descent {
 public:
  Descent(const Search& search, Interval& interval, Cycle stage_limit)
      : search_(search), seed_(search.seed), interval_(interval), stage_limit_(stage_limit) {}

  // With few stages, where schedules are quick to find: at the bound, where many loops are done,
  // else from `last` down.
  void approach(Cycle last) {
    for (int i = 0; i < kFirstAttempts && at_bound_ == SatSolver::Answer::unknown; ++i)
      attempt_at_bound(i, kAttemptConflicts);
    if (done() || interval_.low == last) return;
    if (attempt(last, 0, 0) == SatSolver::Answer::sat) descend();
  }

  // Over all stages, from `high` down until the bound is met, or a question is not answered by a
  // schedule: its verdict is returned.
  SatSolver::Answer prove(Cycle high) {
    for (Cycle ii = high; ii >= interval_.low; ii = interval_.best->initiation_interval - 1) {
      const Stages stages = deciding_stages(search_, ii, stage_limit_);
      interval_.max_stages = std::max(interval_.max_stages, stages.count);
      Answer answer;
      if (!complete_) {  // perhaps few stages and the open end refute all
        prepare(ii);
        answer = question_->ask(ii);
        complete_ = answer.verdict == SatSolver::Answer::sat && !answer.schedule;
      }
      if (complete_) answer = complete_question(search_, ii, ii, stages)->ask(ii);
      if (answer.verdict != SatSolver::Answer::sat) return answer.verdict;
      accept(*answer.schedule);
      descend();
    }
    return SatSolver::Answer::unsat;  // nothing below the bound
  }

 private:
  bool done() const {
    return search_.budget.spent() ||
           (interval_.best && interval_.best->initiation_interval == interval_.low);
  }

  // Each question just below the best so far, until one is refuted. (Halving the gap instead asks
  // in vain below the optimum, and what is learned there is of no use above: 1.3 to 1.9 times the
  // conflicts on the attention graphs.)
  void descend() {
    while (!done()) {
      const SatSolver::Answer verdict =
          probe(interval_.best->initiation_interval - 1, kProbeConflicts);
      if (verdict == SatSolver::Answer::unsat) return;
      if (verdict == SatSolver::Answer::unknown && !attempt_anew()) return;
    }
  }

  // How long a question takes varies by orders of magnitude from seed to seed (Gomes, Selman and
  // Kautz, AAAI 1998): short attempts with new seeds, in turns at the bound and just below the
  // best, until one finds a schedule.
  bool attempt_anew() {
    while (attempts_ < kAttempts && !done()) {
      const Cycle below = interval_.best->initiation_interval - 1;
      const bool at_bound = ++attempts_ % 2 == 1 && at_bound_ == SatSolver::Answer::unknown;
      const int number = kFirstAttempts + attempts_ - 1;
      const std::int64_t limit = kAttemptConflicts * luby(attempts_);
      const SatSolver::Answer verdict =
          at_bound ? attempt_at_bound(number, limit) : attempt(below, number, limit);
      if (verdict == SatSolver::Answer::sat) return true;
      if (verdict == SatSolver::Answer::unsat && (!at_bound || below == interval_.low))
        return false;
    }
    return false;
  }

  // Once with few stages, which can refute the bound, then twice among short schedules only: fewer
  // variables, and a tight deadline decides many of them. (hopper-bwd-sub2 at its bound: found in
  // 80 to 500 conflicts where four stages without a deadline take thousands.)
  SatSolver::Answer attempt_at_bound(int number, std::int64_t limit) {
    if (at_bound_attempts_++ % 3 == 0 || !attempt_short(number, limit))
      at_bound_ = attempt(interval_.low, number, limit);
    return at_bound_;
  }

  // False when there is nothing to ask. (A refutation here proves nothing about longer schedules.)
  bool attempt_short(int number, std::int64_t limit) {
    const Cycle ii = interval_.low;
    const std::vector<Bound> bounds = length_bounds(search_.problem, ii);
    if (bounds.empty()) return false;
    const Cycle deadline = bounds.front().value + bounds.front().value / 4 * (1 + number % 2);
    Search seeded = search_;
    seeded.seed = seed_ + static_cast<std::uint64_t>(number);
    seeded.evidence = nullptr;
    question_.reset();
    const Answer answer = Question(seeded, request_within(seeded, ii, deadline, stage_limit_))
                              .ask(ii, deadline, limit);
    if (!answer.schedule) return true;
    accept(*answer.schedule);
    at_bound_ = SatSolver::Answer::sat;
    return true;
  }

  SatSolver::Answer attempt(Cycle ii, int number, std::int64_t limit) {
    question_.reset();
    search_.seed = seed_ + static_cast<std::uint64_t>(number);
    return probe(ii, limit);
  }

  // One formula serves as long as I falls and the stages that decide are on the same side of few.
  void prepare(Cycle ii) {
    const Stages stages = deciding_stages(search_, ii, stage_limit_);
    const Cycle key = std::min(stages.count, kFewStages + 1);
    if (!question_ || key != key_ || ii < lowest_ || ii > asked_) {
      question_ = few_stages_question(search_, interval_.low, ii, stages);
      lowest_ = order_range_allowed(search_.problem, interval_.low, ii) ? interval_.low : ii;
      key_ = key;
    }
    asked_ = ii;
  }

  SatSolver::Answer probe(Cycle ii, std::int64_t limit) {
    prepare(ii);
    const Answer answer = question_->ask_closed(ii, limit);
    if (answer.schedule) accept(*answer.schedule);
    return answer.verdict;
  }

  void accept(const Schedule& model) {
    const Cycle ii = model.initiation_interval;
    if (!improve(search_.problem, interval_.best,
                 tighten(search_.problem, search_.problem, model, interval_.low, ii), stage_limit_))
      interval_.best = model;
    search_.report.state().ii_high = interval_.best->initiation_interval;
    search_.report.tell();
  }

  Search search_;
  std::uint64_t seed_;
  Interval& interval_;
  Cycle stage_limit_;
  std::unique_ptr<Question> question_;
  Cycle key_ = 0, lowest_ = 1, asked_ = 0;  // what the question is good for
  SatSolver::Answer at_bound_ = SatSolver::Answer::unknown;
  int attempts_ = 0, at_bound_attempts_ = 0;
  bool complete_ = false;  // the open end is too loose for this loop
};

}  // namespace

Answer ask_complete(const Search& search, Cycle ii, Cycle stage_limit, Cycle& max_stages) {
  const Stages stages = deciding_stages(search, ii, stage_limit);
  max_stages = std::max(max_stages, stages.rotated ? stages.count - 1 : stages.count);
  try {
    const auto question = few_stages_question(search, ii, ii, stages);
    if (stages.count > kFewStages) {
      Answer closed = question->ask_closed(ii, kProbeConflicts);
      if (closed.schedule) return closed;
    }
    Answer answer = question->ask(ii);
    if (answer.verdict != SatSolver::Answer::sat || answer.schedule) return answer;
    return complete_question(search, ii, ii, stages)->ask(ii);
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
  const Cycle serial = std::max(low, serial_ii(search.problem));
  try {
    descent.approach(serial);
    if (interval.best && interval.best->initiation_interval == low) return interval;
    const Cycle from = interval.best ? interval.best->initiation_interval - 1 : serial;
    if (descent.prove(from) != SatSolver::Answer::unsat) return interval;
  } catch (const Budget::Spent&) {
    return interval;
  }
  interval.none = !interval.best;
  if (interval.best) interval.low = interval.best->initiation_interval;
  return interval;
}

}  // namespace twill::order
