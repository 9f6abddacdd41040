// The smallest initiation interval by the order engine.
//
// Where feasibility is monotone in I: from the serial interval, at which only orders matter, down.
// Every model is tightened by its orders (graph/bounds/tighten.hpp), and the next question is one
// cycle below what that gives, so that few questions are asked whatever the number of cycles. One
// formula stands for any number of stages and for all I in between, and what was learned is kept,
// so that its last refutation is the proof. Schedules at the bound, where many loops are done, are
// looked for first, within few stages. Elsewhere: upward from the bound, one formula an I.
#include <memory>
#include <optional>
#include <string>

#include "engine/order/luby.hpp"
#include "engine/order/neighbourhoods.hpp"
#include "engine/order/order.hpp"
#include "engine/order/question.hpp"
#include "engine/race.hpp"
#include "engine/time_indexed/time_indexed.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/index.hpp"
#include "graph/log.hpp"

namespace twill::order {
namespace {

constexpr Cycle kFewStages = 4;
constexpr Cycle kShort = 6;  // short is longer than the shortest by one in so many, or by two
constexpr std::int64_t kProbeConflicts = 1'000;
constexpr std::int64_t kAttemptConflicts = 500;  // times the Luby sequence
constexpr std::int64_t kNearConflicts = 500;
constexpr std::int64_t kNeighbourhoodConflicts = 100;
constexpr int kNearRounds = 100;
constexpr int kFirstAttempts = 5;
constexpr int kAttempts = 15;  // more
// Coarse copies come late, since they seldom help.
constexpr int kFirstCoarse = 6, kCoarseEvery = 4;

// The begin of the range of I that ends at `high` and is one formula. The formula has a clause for
// every number of turns that a delay can take: as many as there are at one I, and kManyStages more.
// In most loops they are few.
Cycle range_begin(const Problem& problem, Cycle low, Cycle high) {
  Cycle longest = 1;
  for (const Edge& e : problem.edges)
    longest = std::max(longest, e.delay + problem.ops[at(e.from)].spill);
  for (const Op& op : problem.ops) longest = std::max(longest, op.cycles);
  return std::min(high, std::max(low, longest / (longest / high + kManyStages)));
}

// All schedules, or those within the stage limit. The latter may not be rotated: that can add a
// stage. A limit that excludes nothing is none. (The bound is a convex function of 1 / I, so it is
// largest at an end of the range.)
OrderRequest interval_request(const Search& search, Cycle low, Cycle high) {
  const auto excludes_nothing = [&](Cycle ii) {
    return search.stage_limit > stage_bound(search.problem, ii);
  };
  if (!order_range_allowed(search.problem, low, high)) low = high;
  if (low < high) low = range_begin(search.problem, low, high);
  const bool any = search.stage_limit == 0 || (excludes_nothing(low) && excludes_nothing(high));
  OrderRequest request = request_of(search, any);
  request.ii_high = high;
  request.ii_low = low;
  request.stages = any ? 0 : search.stage_limit;
  return request;
}

// Only schedules of few stages: most searches for one have less to look at then.
OrderRequest few_stages_request(const Search& search, Cycle ii) {
  OrderRequest request = interval_request(search, ii, ii);
  if (request.stages == 0 || request.stages > kFewStages) request.stages = kFewStages;
  return request;
}

// An attempt at the bound (for a schedule only: short, or of few stages where there is no
// deadline), below what was reached (for a refutation too), or by the time-indexed engine on a
// coarse copy of the loop (for a schedule only).
struct Plan {
  enum Kind { at_bound, below, coarse } kind = below;
  Cycle ii = 1, low = 1;                 // asked for, proved
  std::optional<Cycle> deadline;         // at the bound
  int number = 0;                        // of the seed
  std::int64_t limit = 0;                // conflicts; 0 = none
  time_indexed::CoarseProbe probe = {};  // coarse
  bool at_once = false;                  // OrderRequest::at_once
  bool operator==(const Plan&) const = default;
};
struct Outcome {
  Answer answer;
  std::unique_ptr<Question> question;  // below: one formula serves as long as I falls,
  Cycle lowest = 1;                    // to here
  bool overflowed = false;             // Question::overflowed()
  std::int64_t conflicts = 0;          // at the bound
};

// What is tried in turn, as long as nothing decides:
//   1. attempts at the bound,
//   2. from above, each question just below the best,
//   3. where that has become slow, attempts with new seeds: at the bound, just below the best, and
//      by the other engine.
// How long a question takes varies by orders of magnitude from seed to seed (Gomes, Selman and
// Kautz, AAAI 1998) and from form to form. Between the attempts of 3 the question at hand goes on,
// each time for twice as long: what it has learned is what a refutation needs. Where it is stuck it
// looks near the best first (neighbourhoods.hpp).
struct Turn {
  int first = 0, at_bound = 0, anew = 0, coarse = 0;  // attempts so far
  bool bound_open = true;  // a schedule of few stages at the bound is possible
  Cycle shortest = 0;      // but none shorter than this
  Cycle slack = 0;         // and short is longer by this or by twice as much,
  int short_attempts = 0;  // in turns
};

class Descent {
 public:
  // `last`: there is a schedule at this I, or at none.
  Descent(const Search& search, Interval& interval, Cycle last)
      : search_(search),
        interval_(interval),
        last_(last),
        neighbourhoods_(search.problem, search.seed),
        race_(search, [this](const Plan& plan, Search& lane) { return attempt(plan, lane); }) {
    const std::vector<Bound> bounds = length_bounds(search.problem, interval.low);
    turn_.bound_open = !bounds.empty();
    if (!bounds.empty()) shortest_ = turn_.shortest = bounds.front().value;
    turn_.slack = shortest_ / kShort;
    if (shortest_ / interval.low > kManyStages)
      turn_.slack = std::min(turn_.slack, kManyStages / kShort * interval.low);
  }

  // Down until the bound is met or a question is refuted (both unsat), or the budget is spent
  // (unknown). Each question is just below the best so far. (Halving the gap instead asks in vain
  // below the optimum, and what is learned there is of no use above.)
  Verdict run() {
    Verdict verdict = Verdict::unknown;
    while (verdict != Verdict::unsat) {
      if (verdict == Verdict::sat) {
        if (interval_.best->initiation_interval == interval_.low) break;
        verdict = ask_on(kProbeConflicts);
        if (verdict == Verdict::unknown) verdict = ask_near();
        continue;
      }
      if (search_.budget.spent()) return verdict;
      if (const std::optional<Plan> plan = next(turn_)) {
        verdict = take(*plan);
        const bool another = plan->kind == Plan::below && verdict == Verdict::unknown;
        if (another && interval_.best) {
          verdict = ask_on(patience_ *= 2);
          if (verdict == Verdict::unknown) verdict = ask_near();
        }
      } else {  // the last one takes what it takes
        if (interval_.best) verdict = ask_on(0);
        if (verdict == Verdict::unknown) return verdict;
      }
    }
    return Verdict::unsat;
  }

 private:
  // The next attempt; `turn` is then where it has decided nothing.
  std::optional<Plan> next(Turn& turn) const {
    if (turn.bound_open && turn.first < kFirstAttempts)
      return at_bound(turn, turn.first++, kAttemptConflicts);
    if (!interval_.best) {
      if (turn.anew++ > 0) return std::nullopt;
      return Plan{Plan::below, last_, interval_.low, std::nullopt, 0, 0};
    }
    if (turn.anew >= kAttempts) return std::nullopt;
    const auto probes = time_indexed::racing_probes();
    if (const std::size_t next = at(turn.coarse);
        next < probes.size() && turn.anew == kFirstCoarse + kCoarseEvery * turn.coarse) {
      ++turn.coarse;
      return Plan{Plan::coarse, below(), interval_.low, std::nullopt, 0, 0, probes[next]};
    }
    const int number = kFirstAttempts + turn.anew++;
    const std::int64_t limit = kAttemptConflicts * luby(turn.anew);
    if (turn.anew % 2 == 1 && turn.bound_open) return at_bound(turn, number, limit);
    return Plan{Plan::below, below(), interval_.low, std::nullopt, number, limit};
  }
  // Twice among short schedules only: few variables and a tight deadline find one sooner. Where
  // none is so short, longer ones are next. Then once with few stages, which can show that there is
  // no use in trying.
  Plan at_bound(Turn& turn, int number, std::int64_t limit) const {
    Plan plan{Plan::at_bound, interval_.low, interval_.low, std::nullopt, number, limit};
    if (turn.at_bound++ % 3 != 2 && turn.shortest < 2 * shortest_)
      plan.deadline = turn.shortest + turn.slack * (1 + turn.short_attempts++ % 2);
    return plan;
  }
  Cycle below() const { return interval_.best->initiation_interval - 1; }

  // By a lane's search, on any thread.
  Outcome attempt(const Plan& plan, Search& lane) const {
    Outcome outcome;
    lane.seed += static_cast<std::uint64_t>(plan.number);
    lane.budget.complete([&] {
      if (plan.kind == Plan::coarse) {
        outcome.answer.schedule =
            time_indexed::by_coarse_probe(lane, plan.probe, plan.low, plan.ii);
        if (outcome.answer.schedule) outcome.answer.verdict = Verdict::sat;
      } else if (plan.kind == Plan::at_bound) {
        OrderRequest request = plan.deadline ? request_within(lane, plan.ii, *plan.deadline)
                                             : few_stages_request(lane, plan.ii);
        request.at_once = plan.at_once;
        Question question(lane, request);
        const std::int64_t before = lane.budget.conflicts();
        outcome.answer = question.look(plan.ii, plan.deadline.value_or(0), plan.limit);
        outcome.conflicts = lane.budget.conflicts() - before;
        outcome.overflowed = question.overflowed();
      } else {
        OrderRequest request = interval_request(lane, plan.low, plan.ii);
        request.at_once = plan.at_once;
        outcome.lowest = request.ii_low;
        outcome.question = std::make_unique<Question>(lane, request);
        outcome.answer = outcome.question->ask(plan.ii, 0, plan.limit);
        outcome.overflowed = outcome.question->overflowed();
      }
    });
    return outcome;  // where the budget came first, nothing is decided
  }

  // A refutation at the bound proves nothing about other schedules.
  Verdict take(Plan plan) {
    plan.at_once = at_once_ = at_once_ || (question_ && question_->overflowed());
    std::vector<Plan> later;
    Turn ahead = turn_;
    while (later.size() < race_.lanes_ahead()) {
      std::optional<Plan> one = next(ahead);
      if (!one) break;
      one->at_once = at_once_;
      later.push_back(*one);
    }
    TWILL_LOG("attempt ", plan.number, " ",
              plan.kind == Plan::coarse  ? "on a coarse copy"
              : plan.kind == Plan::below ? "below the best"
                                         : "at the bound",
              ": I = ", plan.ii, plan.deadline ? ", D = " + std::to_string(*plan.deadline) : "",
              ", limit ", plan.limit);
    auto [lane, outcome] = race_.take(plan, later);
    const Verdict verdict = outcome.answer.verdict;
    at_once_ = at_once_ || outcome.overflowed || verdict == Verdict::unknown;
    if (outcome.question && (!question_ || verdict == Verdict::sat)) {
      number_ = plan.number;
      question_ = std::move(outcome.question);
      lowest_ = outcome.lowest;
      lane_ = std::move(lane);
    }
    if (plan.kind == Plan::coarse && outcome.answer.schedule && interval_.best &&
        outcome.answer.schedule->initiation_interval >= interval_.best->initiation_interval)
      return Verdict::unknown;
    if (outcome.answer.schedule) accept(*outcome.answer.schedule);
    if (plan.kind == Plan::below || verdict == Verdict::sat) return verdict;
    if (verdict == Verdict::unsat) {  // at the bound
      if (!plan.deadline) {
        turn_.bound_open = false;
      } else {
        turn_.shortest = *plan.deadline + 1;
        if (outcome.conflicts < kEasyConflicts) turn_.slack *= 2;
        turn_.short_attempts = 0;
      }
    }
    return Verdict::unknown;
  }

  // Just below the best, by the formula that was asked last where it is one for that.
  Verdict ask_on(std::int64_t limit) {
    if (!question_ || below() < lowest_)
      return take({Plan::below, below(), interval_.low, std::nullopt, number_, limit});
    TWILL_LOG("the formula at hand goes on: I = ", below(), ", limit ", limit);
    const Answer answer = question_->ask(below(), 0, limit);
    if (answer.schedule) accept(*answer.schedule);
    return answer.verdict;
  }

  // Near the best, by the formula that was asked last: what it learns there, it has learned.
  Verdict ask_near() {
    if (!question_ || below() < lowest_) return Verdict::unknown;
    TWILL_LOG("near the best: I = ", below());
    neighbourhoods_.around(*interval_.best);
    const std::int64_t begin = search_.budget.conflicts();
    // Those that are refuted at once would go on for ever.
    for (int rounds = 0; rounds < kNearRounds && !search_.budget.spent(); ++rounds) {
      const std::int64_t before = search_.budget.conflicts();
      if (before - begin >= kNearConflicts) break;
      const Answer answer = question_->look_near(*interval_.best, neighbourhoods_.next(), below(),
                                                 kNeighbourhoodConflicts);
      if (answer.schedule) {
        accept(*answer.schedule);
        return answer.verdict;
      }
      if (search_.budget.conflicts() - before < kNeighbourhoodConflicts)
        neighbourhoods_.refuted();
      else
        neighbourhoods_.left_open();
    }
    return Verdict::unknown;
  }

  void accept(const Schedule& model) {
    const Cycle ii = model.initiation_interval;
    if (!improve(search_.problem, interval_.best,
                 tighten_within(search_.problem, search_.problem, model, interval_.low, ii,
                                search_.stage_limit),
                 search_.stage_limit))
      interval_.best = model;
    TWILL_LOG("a schedule: I = ", ii, ", tightened to ", interval_.best->initiation_interval,
              ", L = ", interval_.best->length);
    search_.report.state().ii_high = interval_.best->initiation_interval;
    search_.report.tell();
  }

  const Search& search_;
  Interval& interval_;
  const Cycle last_;
  Cycle shortest_ = 0;  // bound on the length at the bound
  Turn turn_;
  std::shared_ptr<Lane> lane_;  // of the question
  std::unique_ptr<Question> question_;
  Cycle lowest_ = 1;
  int number_ = 0;
  bool at_once_ = false;                     // from now on
  std::int64_t patience_ = kProbeConflicts;  // with it
  Neighbourhoods neighbourhoods_;
  Race<Plan, Outcome> race_;
};

}  // namespace

Answer ask_complete(const Search& search, Cycle ii) {
  Answer answer;
  search.budget.complete([&] {
    OrderRequest all = interval_request(search, ii, ii);
    {
      Question few(search, few_stages_request(search, ii));
      Answer found = few.look(ii, 0, kProbeConflicts);
      if (found.schedule) return void(answer = std::move(found));
      all.at_once = few.overflowed() || found.verdict == Verdict::unknown;
    }
    answer = Question(search, std::move(all)).ask(ii);
  });
  return answer;
}

Interval smallest_interval(const Search& search, Cycle low) {
  Interval interval;
  interval.low = low;
  search.report.state().ii_low = low;
  if (latest_pinned_cycle(search.problem) > 0)
    return interval_with_pinned_cycles(search, std::move(interval));
  if (!monotone_in_ii(search.problem)) {
    if (!serial_schedule(search, serial_problem(search.problem), interval)) return interval;
    search.report.phase("interval");
    return ascend(search, std::move(interval));
  }
  search.report.phase("interval");
  Descent descent(search, interval, std::max(low, serial_ii(search.problem)));
  bool decided = false;
  search.budget.complete([&] { decided = descent.run() == Verdict::unsat; });
  if (!decided) return interval;
  interval.none = !interval.best;
  if (interval.best) interval.low = interval.best->initiation_interval;
  return interval;
}

}  // namespace twill::order
