// The smallest length at a given initiation interval by the order engine.
//
// D is a parameter that may only fall within one formula. So a large D is not asked first, but
// this: is there a schedule a sixteenth longer than the bound? A tight deadline leaves few
// variables and decides many of them: models are found sooner than with a loose one, and
// refutations raise the proved bound. The sixteenth doubles with each refutation that was easy,
// since that is far from a schedule. It doubles too with each question that is not settled soon;
// that question is left. The first model is short already. From there D falls from model to model,
// each tightened by its orders, until it is refuted.
//
// Where that is stuck, one formula goes on: what it has learned is what a refutation needs.
// Attempts by new seeds take turns with it, with half of its effort: how long a model takes varies
// by orders of magnitude from seed to seed, and most often it is short.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/order/luby.hpp"
#include "engine/order/order.hpp"
#include "engine/order/question.hpp"
#include "engine/race.hpp"
#include "graph/log.hpp"

namespace twill::order {
namespace {

constexpr Cycle kTightness = 16;
constexpr std::int64_t kFirstConflicts = 500;    // of a formula without most sums
constexpr std::int64_t kModelConflicts = 1'000;  // times the Luby sequence
constexpr std::int64_t kNextModelConflicts = 2'000;
constexpr std::int64_t kGoOn = 2;    // times the conflicts of the attempt before
constexpr int kLengthAttempts = 15;  // that sequence, once 8

// An attempt to find schedules of at most this length, and then shorter ones.
struct LengthPlan {
  Cycle deadline = 0, low = 0;  // low: proved
  int number = 0;               // of the seed
  std::int64_t limit = 0;       // conflicts of the first question; 0 = none
  bool at_once = false;         // OrderRequest::at_once
  bool go_on = false;           // by the formula that was kept, not a new one
  bool operator==(const LengthPlan&) const = default;
};
struct LengthOutcome {
  std::vector<Schedule> found;  // each shorter than the one before
  bool refuted = false;         // none is shorter than the last, or than the deadline
  bool overflowed = false;      // Question::overflowed()
  std::int64_t conflicts = 0;
  std::unique_ptr<Question> question;  // of a new formula
};

// What is tried in turn, as long as nothing decides.
class LengthTurn {
 public:
  LengthTurn(Cycle ii, Cycle low, Cycle high)
      : ii_(ii), low_(low), high_(high), slack_(low / kTightness + 1) {
    if (low / ii > kManyStages) slack_ = std::min(slack_, kManyStages / kTightness * ii);
  }

  Cycle low() const { return low_; }
  bool settled() const { return deadline() < low_; }

  void learn(const LengthPlan& plan, const LengthOutcome& outcome) {
    at_once_ = at_once_ || outcome.overflowed || (!outcome.refuted && !has_sums(plan, outcome));
    again_ = !has_sums(plan, outcome) && !outcome.refuted && outcome.found.empty();
    if (!outcome.found.empty()) best_ = outcome.found.back().length;
    if (outcome.refuted) low_ = std::max(low_, outcome.found.empty() ? plan.deadline + 1 : *best_);
    if ((!outcome.refuted || outcome.conflicts < kEasyConflicts) && slack_ < high_) slack_ *= 2;
  }
  // Is the formula of a plan that has not settled all the one to go on with from now on? One that
  // found a model is, and so is one of fewer stages than the one before, with most sums.
  bool keep(const LengthPlan& plan, const LengthOutcome& outcome) {
    if (plan.deadline < deadline()) return false;
    const Cycle stages = plan.deadline / ii_ + 1;
    if (outcome.found.empty() && (!has_sums(plan, outcome) || (kept_ > 0 && kept_ <= stages)))
      return false;
    kept_ = stages;
    return go_on_ = true;
  }

  std::optional<LengthPlan> next() {
    if (settled()) return std::nullopt;
    if (!best_ && asked_ < high_) {
      if (!std::exchange(again_, false)) raise();
      return LengthPlan{asked_, low_, number_++, at_once_ ? kModelConflicts : kFirstConflicts,
                        at_once_};
    }
    if (kept_ > 0 && attempts_ == kLengthAttempts) {  // the last one takes what it takes
      ++attempts_;
      return LengthPlan{deadline(), low_, 0, 0, at_once_, true};
    }
    if (kept_ > 0 && std::exchange(go_on_, false))
      return LengthPlan{deadline(), low_, 0, kGoOn * limit(), at_once_, true};
    if (++attempts_ > kLengthAttempts) return std::nullopt;
    go_on_ = true;
    return LengthPlan{deadline(), low_, number_++, limit(), at_once_};
  }

 private:
  static bool has_sums(const LengthPlan& plan, const LengthOutcome& outcome) {
    return plan.at_once || (outcome.question && outcome.question->nearly_complete());
  }
  Cycle deadline() const { return best_ ? *best_ - 1 : high_; }
  std::int64_t limit() const { return kModelConflicts * luby(std::max(1, attempts_)); }
  void raise() {
    const Cycle stage_end = (low_ / ii_ + 1) * ii_ - 1;  // one stage more has more variables
    Cycle deadline = std::min(low_ + slack_, high_);
    if (asked_ < stage_end) deadline = std::min(deadline, stage_end);
    asked_ = deadline;
  }

  Cycle ii_, low_, high_, slack_, asked_ = -1;
  Cycle kept_ = 0;  // stages of the formula to go on with
  std::optional<Cycle> best_;
  int number_ = 0, attempts_ = 0;
  bool at_once_ = false, again_ = false, go_on_ = false;
};

}  // namespace

Shortest shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high,
                         const std::function<void(const Schedule&)>& found) {
  // Down from the plan's deadline to what is proved.
  const auto descend = [&](const LengthPlan& plan, const Search& lane, Question& question,
                           LengthOutcome& outcome) {
    std::int64_t limit = plan.limit;
    const std::int64_t before = lane.budget.conflicts();
    for (Cycle deadline = plan.deadline; deadline >= plan.low;) {
      const Answer answer = question.ask(ii, deadline, limit);
      outcome.overflowed = question.overflowed();
      outcome.conflicts = lane.budget.conflicts() - before;
      if (answer.verdict == Verdict::unknown) return;
      if (answer.verdict == Verdict::unsat) break;
      outcome.found.push_back(shortened(search.problem, *answer.schedule, search.stage_limit));
      lane.report.state().length_high = outcome.found.back().length;
      deadline = outcome.found.back().length - 1;
      if (limit > 0) limit = std::max(limit, kNextModelConflicts);
    }
    outcome.refuted = true;
  };
  const auto attempt = [&](const LengthPlan& plan, Search& lane) {
    LengthOutcome outcome;
    lane.seed += static_cast<std::uint64_t>(plan.number);
    lane.budget.complete([&] {  // what was found counts
      OrderRequest request = request_within(lane, ii, plan.deadline);
      request.at_once = plan.at_once;
      outcome.question = std::make_unique<Question>(lane, std::move(request));
      descend(plan, lane, *outcome.question, outcome);
    });
    return outcome;
  };
  Race<LengthPlan, LengthOutcome> race(search, attempt);
  std::shared_ptr<Lane> lane;  // of the formula to go on with
  std::unique_ptr<Question> kept;
  Shortest result{Verdict::unknown, std::nullopt, low};
  LengthTurn turn(ii, low, high);
  while (std::optional<LengthPlan> plan = turn.next()) {
    LengthOutcome outcome;
    TWILL_LOG(plan->go_on ? "the formula at hand goes on" : "a new formula", ": I = ", ii,
              ", D = ", plan->deadline, ", limit ", plan->limit);
    if (plan->go_on) {
      search.budget.complete([&] { descend(*plan, lane->search(), *kept, outcome); });
      turn.learn(*plan, outcome);
    } else {
      std::vector<LengthPlan> later;
      for (LengthTurn ahead = turn; later.size() < race.lanes_ahead();) {
        const std::optional<LengthPlan> one = ahead.next();
        if (!one) break;
        if (!one->go_on) later.push_back(*one);
      }
      auto taken = race.take(*plan, later);
      outcome = std::move(taken.outcome);
      turn.learn(*plan, outcome);
      if (outcome.question && turn.keep(*plan, outcome)) {
        kept = std::move(outcome.question);
        lane = std::move(taken.lane);
      }
    }
    TWILL_LOG(
        outcome.found.size(), " schedules, ",
        outcome.found.empty() ? std::string("none") : std::to_string(outcome.found.back().length),
        " the last L, ", outcome.refuted ? "refuted below" : "open below", ", ", outcome.conflicts,
        " conflicts; L >= ", turn.low());
    for (const Schedule& schedule : outcome.found)
      if (found) found(schedule);
    if (!outcome.found.empty()) result.best = outcome.found.back();
    search.report.state().length_low = result.low = turn.low();
    if (result.best) search.report.state().length_high = result.best->length;
    if (search.budget.spent()) break;
  }
  if (turn.settled())
    result.verdict = result.best ? Verdict::sat : Verdict::unsat;
  return result;
}

}  // namespace twill::order
