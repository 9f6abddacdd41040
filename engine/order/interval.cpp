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
#include <utility>
#include <vector>

#include "engine/order/copies.hpp"
#include "engine/order/ladder.hpp"
#include "engine/order/luby.hpp"
#include "engine/order/neighbourhoods.hpp"
#include "engine/order/order.hpp"
#include "engine/order/short_schedules.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/index.hpp"

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
// In loops of more than kManyOps ops, once there is a schedule, the list scheduler has other seeds
// too, which find better ones sooner than formulas do (bench/results/hard.md).
constexpr int kLists = 3;
// A shortening takes one of so many conflicts so far.
constexpr std::int64_t kShortening = 32;
// Coarse copies come late, since they seldom help.
constexpr int kFirstCoarse = 6, kCoarseEvery = 4;
// Of a long search: short below the best is longer than its I, or than the shortest, by one in so
// many, and within so many periods of any I that is asked.
constexpr Cycle kShortBelow = 16, kShortPeriods = 8;
constexpr std::int64_t kRefuteConflicts = 200'000;

// The begin of the range of I that ends at `high` and is one formula. The formula has a clause for
// every number of turns that a delay can take: as many as there are at one I, and kManyStages more.
// In most loops they are few.
Cycle range_begin(const Problem& problem, Cycle low, Cycle high) {
  Cycle longest = 1;
  for (const Edge& e : problem.edges) longest = std::max(longest, e.delay + spill_of(problem, e));
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

// What is tried in turn, as long as nothing decides:
//   1. attempts at the bound,
//   2. the loop that this one is unrolled from, and the list scheduler (in loops of many ops before
//      these),
//   3. from above, each question just below the best,
//   4. where that has become slow, attempts with new seeds: at the bound, just below the best, and
//      by the other engine on coarse copies. After one below the best the formula at hand goes on,
//      each time for twice as long. Where the search is long, the short schedules come first, once:
//      those at the bound, and those below the best. Where none of these has a smaller I there is
//      hardly any: a new formula just below the best, with the effort that a refutation takes.
//   5. The formula at hand takes what it takes.
// After every schedule the formula at hand goes on below it, for as long as that is quick. Where it
// is stuck it looks near the best first (neighbourhoods.hpp).
class IntervalLadder {
 public:
  // `last`: there is a schedule at this I, or at none.
  IntervalLadder(const Search& search, Interval& interval, Cycle last)
      : search_(search), interval_(interval), last_(last) {
    // (The other bounds on L prove more, but find no first model sooner.)
    const std::vector<Bound> bounds = plain_length_bounds(search.problem, interval.low);
    bound_open_ = !bounds.empty();
    if (list_can_answer(search)) lists_left_ = search.problem.ops.size() > kManyOps ? kLists : 1;
    copies_left_ = rolled_of(search).has_value();
    if (!bounds.empty()) shortest_ = asked_length_ = bounds.front().value;
    slack_ = shortest_ / kShort;
    if (shortest_ / interval.low > kManyStages)
      slack_ = std::min(slack_, kManyStages / kShort * interval.low);
  }

  // Is the bound met, or a question just below the best refuted? (Halving the gap instead asks in
  // vain below the optimum, and what is learned there is of no use above.)
  bool settled() const { return settled_; }

  std::optional<Attempt> next() {
    if (settled_) return std::nullopt;
    if (tight_is_due()) return among_shortest();
    if (short_is_due()) return among_short();
    if (std::exchange(refute_, false)) return refutation();
    if (go_on_) return at_best(Attempt::go_on, number_, *std::exchange(go_on_, std::nullopt));
    if (std::exchange(near_, false)) return at_best(Attempt::near, number_, kNearConflicts);
    const bool bound_first =
        bound_open_ && first_ < kFirstAttempts && search_.problem.ops.size() <= kManyOps;
    if (!bound_first && std::exchange(copies_left_, false))
      return attempt(Attempt::copies, interval_.low, 0, 0);
    if (lists_left_ > 0 && !bound_first && interval_.best.has_value() == (lists_ > 0)) {
      --lists_left_;
      return attempt(Attempt::list, interval_.low, lists_++, 0);
    }
    if (bound_open_ && first_ < kFirstAttempts) return at_bound(first_++, kAttemptConflicts);
    if (!interval_.best) {
      if (anew_++ > 0) return std::nullopt;
      return attempt(Attempt::below, last_, 0, 0);
    }
    if (anew_ >= kAttempts) {
      if (std::exchange(last_asked_, true)) return std::nullopt;
      return at_best(Attempt::go_on, number_, 0);
    }
    const auto probes = time_indexed::racing_probes();
    if (const std::size_t next = at(coarse_);
        next < probes.size() && anew_ == kFirstCoarse + kCoarseEvery * coarse_) {
      ++coarse_;
      Attempt probe = at_best(Attempt::coarse, 0, 0);
      probe.probe = probes[next];
      return probe;
    }
    const int number = kFirstAttempts + anew_++;
    const std::int64_t limit = kAttemptConflicts * luby(anew_);
    if (anew_ % 2 == 1 && bound_open_) return at_bound(number, limit);
    return at_best(Attempt::below, number, limit);
  }

  bool learn(const Attempt& attempt, const Outcome& outcome) {
    const bool unknown = outcome.verdict == Verdict::unknown;
    const bool own_formula = !attempt.is_at_hand() || outcome.formula;
    at_once_ = at_once_ || outcome.overflowed || (own_formula && unknown);
    const bool keep =
        outcome.formula && (!at_hand_ || attempt.replaces || outcome.verdict == Verdict::sat);
    if (keep) number_ = attempt.number;
    at_hand_ = at_hand_ || keep;
    if (attempt.kind == Attempt::list) {
      if (outcome.verdict == Verdict::sat) accept_listed(outcome.found.back());
      // Once, the best of all seeds: I comes first. (At the bound on I lengths are next anyway.)
      if (lists_left_ == 0 && interval_.best && !settled_) shorten_listed(search_, *interval_.best);
    } else if (attempt.kind == Attempt::short_below) {
      if (!outcome.found.empty()) accept(attempt, outcome.found.back());
      refute_ = outcome.verdict == Verdict::unsat && !settled_;
    } else if (outcome.verdict == Verdict::sat)
      accept(attempt, outcome.found.back());
    else if (attempt.kind == Attempt::at_bound && !unknown)
      none_at_bound(attempt, outcome);
    else if (!unknown)
      settled_ = true;
    else if (attempt.kind == Attempt::below && interval_.best)
      go_on_and_near(patience_ *= 2);
    if (shortening_is_due()) shorten_now();
    return keep;
  }

  // What is left when time ends is short too: of the same interval as the best one.
  void use_shorter() {
    if (shorter_ && interval_.best &&
        shorter_->initiation_interval == interval_.best->initiation_interval &&
        shorter_->length < interval_.best->length)
      interval_.best = std::move(shorter_);
  }

 private:
  Attempt attempt(Attempt::Kind kind, Cycle ii, int number, std::int64_t limit) const {
    Attempt plan{kind, ii, interval_.low, std::nullopt, number, limit, at_once_};
    plan.is_long = search_.budget.conflicts() >= kLong;
    return plan;
  }
  Attempt at_best(Attempt::Kind kind, int number, std::int64_t limit) const {
    return attempt(kind, interval_.best->initiation_interval - 1, number, limit);
  }
  // Twice among short schedules only: few variables and a tight deadline find one sooner. Where
  // none is so short, longer ones are next. Then once with few stages, which can show that there is
  // no use in trying.
  Attempt at_bound(int number, std::int64_t limit) {
    Attempt plan = attempt(Attempt::at_bound, interval_.low, number, limit);
    if (at_bound_++ % 3 != 2 && asked_length_ < 2 * shortest_)
      plan.deadline = asked_length_ + slack_ * (1 + short_attempts_++ % 2);
    return plan;
  }

  bool tight_is_due() const { return bound_open_ && !tight_asked_ && asks_short_ones(search_); }
  bool short_is_due() const {
    return interval_.best && !short_asked_ && asks_short_ones(search_) &&
           short_deadline() <= kShortPeriods * interval_.low;
  }
  Attempt among_shortest() {
    tight_asked_ = true;
    Attempt plan = attempt(Attempt::at_bound, interval_.low, 0, kTightConflicts);
    plan.deadline = asked_length_ + std::min(slack_, shortest_ / kTight);
    plan.is_tight = true;
    return plan;
  }
  Attempt among_short() {
    short_asked_ = true;
    Attempt plan = at_best(Attempt::short_below, 0, kTightConflicts);
    plan.deadline = short_deadline();
    return plan;
  }
  Cycle short_deadline() const {
    const Cycle least = std::max(interval_.best->initiation_interval, shortest_);
    return least + least / kShortBelow;
  }
  Attempt refutation() const {
    Attempt plan = at_best(Attempt::below, 0, kRefuteConflicts);
    plan.low = plan.ii;  // what is refuted there is refuted below
    plan.replaces = true;
    return plan;
  }

  void go_on_and_near(std::int64_t limit) {
    go_on_ = limit;
    near_ = true;
  }

  // It may have more stages than asked for. Questions at the bound come before those below it.
  void accept_listed(const Schedule& listed) {
    if (!improve(search_.problem, interval_.best, listed, search_.stage_limit)) return;
    told();
    if (!bound_open_ || first_ >= kFirstAttempts) go_on_and_near(kProbeConflicts);
  }

  // (A coarse copy's schedule may be no better, nor that of a loop that this one is unrolled from.)
  void accept(const Attempt& attempt, const Schedule& model) {
    const Cycle ii = model.initiation_interval;
    if ((attempt.kind == Attempt::coarse || attempt.kind == Attempt::copies) && interval_.best &&
        ii >= interval_.best->initiation_interval)
      return;
    if (!improve(search_.problem, interval_.best,
                 tighten_within(search_, search_.problem, model, interval_.low, ii),
                 search_.stage_limit))
      interval_.best = model;
    TWILL_LOG("a schedule: I = ", ii, ", tightened to ", interval_.best->initiation_interval,
              ", L = ", interval_.best->length);
    told();
    last_asked_ = false;
    go_on_and_near(kProbeConflicts);
  }

  void told() {
    search_.budget.keep_back(kLong);
    search_.report.state().ii_high = interval_.best->initiation_interval;
    search_.report.tell();
    settled_ = interval_.best->initiation_interval == interval_.low;
  }

  // That proves nothing about other schedules: longer ones, or of more stages.
  void none_at_bound(const Attempt& attempt, const Outcome& outcome) {
    bound_open_ = attempt.deadline.has_value();
    if (!attempt.deadline) return;
    asked_length_ = *attempt.deadline + 1;
    if (outcome.conflicts < kEasyConflicts) slack_ *= 2;
    short_attempts_ = 0;
  }

  // A search that ends for want of time has not been asked for short schedules. So it is asked now
  // and then, each time with a share of the conflicts so far, and before what takes all the rest.
  bool shortening_is_due() const {
    if (!interval_.best || settled_) return false;
    const bool rest_is_next = anew_ >= kAttempts && !last_asked_ && !go_on_ && !near_;
    return rest_is_next || search_.budget.conflicts() >= next_shortening_;
  }
  void shorten_now() {
    const std::int64_t so_far = search_.budget.conflicts();
    next_shortening_ = std::max(next_shortening_, 2 * so_far);
    const Cycle ii = interval_.best->initiation_interval;
    if (!shorter_ || shorter_->initiation_interval != ii) shorter_ = *interval_.best;
    const std::vector<Bound> bounds = length_bounds(search_.problem, ii);
    const Cycle low = bounds.empty() ? 0 : bounds.front().value;
    if (shorter_->length <= low) return;
    const Cycle told = search_.report.state().length_high;  // of I alone as long as that falls
    if (search_.problem.ops.size() <= kManyOps)
      search_.budget.complete([&] { shorten_near(search_, *shorter_, low, so_far / kShortening); });
    else if (list_can_answer(search_))
      shorten_listed(search_, *shorter_);
    search_.report.state().length_high = told;
    TWILL_LOG("shorter: I = ", ii, ", L = ", shorter_->length);
  }

  const Search& search_;
  Interval& interval_;
  Cycle last_;
  int first_ = 0, at_bound_ = 0, anew_ = 0, coarse_ = 0;  // attempts so far
  bool last_asked_ = false;                               // and the very last
  bool tight_asked_ = false, short_asked_ = false;        // those of a long search
  bool refute_ = false;                                   // that is next
  bool copies_left_ = false;        // is there a loop that this one is unrolled from, not asked yet
  int lists_ = 0, lists_left_ = 0;  // times the list scheduler is asked
  bool bound_open_ = true;          // a schedule of few stages at the bound is possible
  Cycle shortest_ = 0;              // of the schedules at the bound none is shorter,
  Cycle asked_length_ = 0;          // nor than this, among those of few stages
  Cycle slack_ = 0;                 // and short is longer by this or by twice as much,
  int short_attempts_ = 0;          // in turns
  std::optional<std::int64_t> go_on_;  // that comes next, with this limit,
  bool near_ = false;                  // and then that
  bool at_hand_ = false;               // is there a formula at hand
  int number_ = 0;                     // of its seed
  bool at_once_ = false;               // from now on
  std::int64_t patience_ = kProbeConflicts;
  std::optional<Schedule> shorter_;  // of the best interval when it was made
  std::int64_t next_shortening_ = kLong;
  bool settled_ = false;
};

// By a lane's search, on any thread.
Outcome start(const Attempt& attempt, Search& lane) {
  Outcome outcome;
  lane.seed += static_cast<std::uint64_t>(attempt.number);
  lane.budget.complete([&] {
    if (attempt.kind == Attempt::list) {
      Answer answer;
      answer.schedule =
          by_list(lane, attempt.low, [&](Schedule& one) { fall_near(lane, one, attempt.low); });
      if (answer.schedule) answer.verdict = Verdict::sat;
      outcome.take(std::move(answer));
    } else if (attempt.kind == Attempt::copies) {
      Answer answer;
      if (const auto rolled = rolled_of(lane)) answer.schedule = by_copies(lane, *rolled);
      if (answer.schedule) answer.verdict = Verdict::sat;
      outcome.take(std::move(answer));
    } else if (attempt.kind == Attempt::coarse) {
      Answer answer;
      answer.schedule = time_indexed::by_coarse_probe(lane, attempt.probe, attempt.low, attempt.ii);
      if (answer.schedule) answer.verdict = Verdict::sat;
      outcome.take(std::move(answer));
    } else if (attempt.kind == Attempt::short_below) {
      const Cycle low = interval_request(lane, attempt.low, attempt.ii).ii_low;
      const OrderRequest request =
          attempt.asked(short_request(lane, low, attempt.ii, *attempt.deadline));
      outcome.verdict = look_below(lane, request, *attempt.deadline, attempt.limit, outcome.found);
    } else if (attempt.kind == Attempt::at_bound) {
      OrderRequest request = attempt.deadline ? request_within(lane, attempt.ii, *attempt.deadline)
                                              : few_stages_request(lane, attempt.ii);
      IncrementalSolver solver(lane, attempt.asked(std::move(request)));
      solver.only_look();
      const std::int64_t before = lane.budget.conflicts();
      outcome.take(solver.look(attempt.ii, attempt.deadline.value_or(0), attempt.limit));
      if (attempt.is_tight && !outcome.found.empty()) look_shorter(lane, solver, outcome.found);
      outcome.conflicts = lane.budget.conflicts() - before;
      outcome.overflowed = solver.overflowed();
    } else {
      OrderRequest request = attempt.asked(interval_request(lane, attempt.low, attempt.ii));
      outcome.lowest = request.ii_low;
      outcome.formula = std::make_unique<IncrementalSolver>(lane, request);
      outcome.take(outcome.formula->ask(attempt.ii, 0, attempt.limit));
      outcome.overflowed = outcome.formula->overflowed();
    }
  });
  return outcome;  // where the budget came first, nothing is decided
}

// By the formula at hand: what it learns there, it has learned.
Answer look_near(const Schedule& best, const Attempt& attempt, const Search& search,
                 IncrementalSolver& at_hand, Neighbourhoods& neighbourhoods) {
  neighbourhoods.around(best);
  const std::int64_t begin = search.budget.conflicts();
  // Those that are refuted at once would go on for ever.
  for (int rounds = 0; rounds < kNearRounds && !search.budget.spent(); ++rounds) {
    const std::int64_t before = search.budget.conflicts();
    if (before - begin >= attempt.limit) break;
    Answer answer =
        at_hand.look_near(best, neighbourhoods.next(), attempt.ii, kNeighbourhoodConflicts);
    if (answer.schedule) return answer;
    if (search.budget.conflicts() - before < kNeighbourhoodConflicts)
      neighbourhoods.refuted();
    else
      neighbourhoods.left_open();
  }
  return {};
}

}  // namespace

Answer ask_complete(const Search& search, Cycle ii) {
  Answer answer;
  search.budget.complete([&] {
    OrderRequest all = interval_request(search, ii, ii);
    {
      IncrementalSolver few(search, few_stages_request(search, ii));
      few.only_look();
      Answer found = few.look(ii, 0, kProbeConflicts);
      if (found.schedule) return void(answer = std::move(found));
      all.at_once = few.overflowed() || found.verdict == Verdict::unknown;
    }
    answer = IncrementalSolver(search, std::move(all)).ask(ii);
  });
  return answer;
}

Interval smallest_interval(const Search& search, Cycle low) {
  Interval interval;
  interval.low = low;
  search.report.state().ii_low = low;
  if (latest_pinned_cycle(search.problem) > 0)
    return interval_with_pinned_cycles(search, std::move(interval));
  if (!search.problem.inner_loops.empty())
    return interval_with_inner_loops(search, std::move(interval));
  if (!monotone_in_ii(search.problem)) {
    if (!serial_schedule(search, serial_problem(search.problem), interval)) return interval;
    search.report.phase("interval");
    return ascend(search, std::move(interval));
  }
  search.report.phase("interval");
  IntervalLadder ladder(search, interval, std::max(low, serial_ii(search.problem)));
  Neighbourhoods neighbourhoods(search.problem, search.seed);
  climb<IntervalLadder>(
      search, ladder, start,
      [&](const Attempt& attempt, const Search&, IncrementalSolver& at_hand, Outcome& outcome) {
        outcome.take(attempt.kind == Attempt::near
                         ? look_near(*interval.best, attempt, search, at_hand, neighbourhoods)
                         : at_hand.ask(attempt.ii, 0, attempt.limit));
        outcome.overflowed = at_hand.overflowed();
      });
  search.budget.release(ladder.settled());
  ladder.use_shorter();
  if (!ladder.settled()) return interval;
  interval.none = !interval.best;
  if (interval.best) interval.low = interval.best->initiation_interval;
  return interval;
}

}  // namespace twill::order
