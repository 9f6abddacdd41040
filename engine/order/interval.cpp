// The smallest initiation interval by the order engine.
//
// Where feasibility is monotone in I: from the serial interval, at which only orders matter, down.
// Every model is tightened by its orders (graph/tighten.hpp), and the next question is one cycle
// below what that gives, so that few questions are asked whatever the number of cycles. The formula
// holds for all I in between, and what was learned is kept. First few stages, which find schedules
// fast; what they cannot reach is asked of the complete number of stages, and its refutation is the
// proof. Elsewhere: upward from the bound, one formula an I.
#include <memory>

#include "engine/order/order.hpp"
#include "engine/order/question.hpp"
#include "graph/serial.hpp"
#include "graph/stage_bound.hpp"
#include "graph/tighten.hpp"

namespace twill::order {
namespace {

constexpr Cycle kFewStages = 4;
constexpr std::int64_t kBoundConflicts = 1'000;
constexpr std::int64_t kProbeConflicts = 2'000;

// Stages that decide `ii`, and whether the schedule may be rotated for them: under a limit it may
// not, and rotation can add a stage.
struct Stages {
  Cycle count;
  bool rotated;
};
Stages deciding_stages(const Search& search, Cycle ii, Cycle stage_limit) {
  const Cycle enough = stage_bound(search.problem, ii);
  if (stage_limit > 0 && stage_limit <= enough) return {stage_limit, false};
  return {enough + 1, true};
}

std::unique_ptr<Question> question(const Search& search, Cycle low, Cycle high, Stages stages) {
  OrderRequest request = request_of(search);
  request.ii_high = high;
  request.ii_low = order_range_allowed(search.problem, low, high) ? low : high;
  request.stages = stages.count;
  request.pinned = stages.rotated ? rotation_pivot(search.problem) : -1;
  return std::make_unique<Question>(search, request);
}

class Descent {
 public:
  Descent(const Search& search, Interval& interval, Cycle stage_limit)
      : search_(search), interval_(interval), stage_limit_(stage_limit) {}

  // With few stages, where schedules are quick to find: at the bound, where many loops are done;
  // else from `last` down by halving what is left above the bound. What is refuted or given up on
  // the way only says where to look.
  void approach(Cycle last) {
    if (ask(interval_.low, kFewStages, kBoundConflicts) == SatSolver::Answer::sat) return;
    if (interval_.low == last || search_.budget.spent()) return;
    if (ask(last, kFewStages, 0) != SatSolver::Answer::sat) return;
    for (Cycle low = interval_.low + 1; low < interval_.best->initiation_interval;) {
      const Cycle middle = low + (interval_.best->initiation_interval - low) / 2;
      if (ask(middle, kFewStages, kProbeConflicts) != SatSolver::Answer::sat) low = middle + 1;
      if (search_.budget.spent()) return;
    }
  }

  // With all stages from `high` down until the bound is met, or a question is not answered by a
  // schedule: its verdict is returned.
  SatSolver::Answer prove(Cycle high) {
    for (Cycle ii = high; ii >= interval_.low; ii = interval_.best->initiation_interval - 1) {
      const SatSolver::Answer verdict = ask(ii, 0, 0);
      if (verdict != SatSolver::Answer::sat) return verdict;
    }
    return SatSolver::Answer::unsat;  // nothing below the bound
  }

 private:
  // `few` = 0 for the complete number of stages.
  SatSolver::Answer ask(Cycle ii, Cycle few, std::int64_t limit) {
    const Stages stages = deciding_stages(search_, ii, stage_limit_);
    if (!question_ || question_->stages() < stages.count || ii < lowest_ || ii > asked_) {
      question_ = question(search_, interval_.low, ii, stages);
      lowest_ = order_range_allowed(search_.problem, interval_.low, ii) ? interval_.low : ii;
    }
    asked_ = ii;
    if (few == 0) interval_.max_stages = std::max(interval_.max_stages, question_->stages());
    const Answer answer = question_->ask(ii, 0, limit, few);
    if (answer.verdict == SatSolver::Answer::sat) accept(*answer.schedule);
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

  const Search& search_;
  Interval& interval_;
  Cycle stage_limit_;
  std::unique_ptr<Question> question_;
  Cycle lowest_ = 1, asked_ = 0;  // the question's range, and its I so far
};

}  // namespace

Answer ask_complete(const Search& search, Cycle ii, Cycle stage_limit, Cycle& max_stages) {
  const Stages stages = deciding_stages(search, ii, stage_limit);
  max_stages = std::max(max_stages, stages.rotated ? stages.count - 1 : stages.count);
  try {
    return question(search, ii, ii, stages)->ask(ii);
  } catch (const Budget::Spent&) {
    return {};
  }
}

Interval smallest_interval(const Search& search, Cycle low, Cycle stage_limit) {
  Interval interval;
  interval.low = low;
  search.report.state().ii_low = low;
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
