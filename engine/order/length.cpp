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
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/order/ladder.hpp"
#include "engine/order/luby.hpp"
#include "engine/order/order.hpp"
#include "graph/bounds/length_bound.hpp"

namespace twill::order {
namespace {

constexpr Cycle kTightness = 16;
constexpr std::int64_t kFirstConflicts = 500;    // of a formula without most sums
constexpr std::int64_t kModelConflicts = 1'000;  // times the Luby sequence
constexpr std::int64_t kNextModelConflicts = 2'000;
constexpr std::int64_t kGoOn = 2;    // times the conflicts of the attempt before
constexpr int kLengthAttempts = 15;  // that sequence, once 8
constexpr int kFewAttempts = 3;      // where a formula of a tight deadline goes on

// What is tried in turn, as long as nothing decides: each attempt is for a schedule of at most its
// deadline, and then for shorter ones. In long searches, a formula of a tight deadline comes first.
//   1. New formulas with rising deadlines, up to the first schedule,
//   2. below the best, in turns: the formula at hand goes on, and a new one with a new seed,
//   3. the formula at hand takes what it takes.
class LengthLadder {
 public:
  using Found = std::function<void(const Schedule&)>;

  LengthLadder(const Search& search, LengthResult& result, Cycle ii, Cycle high, const Found& found)
      : search_(search),
        result_(result),
        found_(found),
        ii_(ii),
        high_(high),
        from_(guide(search.problem, ii, result.low)),
        slack_(from_ / kTightness + 1) {
    if (from_ / ii > kManyStages) slack_ = std::min(slack_, kManyStages / kTightness * ii);
  }

  bool settled() const { return deadline() < result_.low; }

  std::optional<Attempt> next() {
    if (settled()) return std::nullopt;
    if (!std::exchange(begun_, true) && asks_short_ones(search_)) {
      at_once_ = true;
      asked_ = std::min(result_.low + std::min(slack_, result_.low / kTight), high_);
      Attempt plan = attempt(Attempt::below, asked_, number_++, kTightConflicts);
      plan.is_tight = true;
      return plan;
    }
    if (!result_.best && asked_ < high_) {
      if (!std::exchange(again_, false)) raise();
      return attempt(Attempt::below, asked_, number_++,
                     at_once_ ? kModelConflicts : kFirstConflicts);
    }
    if (kept_ > 0 && attempts_ == most_attempts_) {
      ++attempts_;
      return attempt(Attempt::go_on, deadline(), 0, 0);
    }
    if (kept_ > 0 && std::exchange(go_on_, false))
      return attempt(Attempt::go_on, deadline(), 0, kGoOn * limit());
    if (++attempts_ > most_attempts_) return std::nullopt;
    go_on_ = true;
    return attempt(Attempt::below, deadline(), number_++, limit());
  }

  bool learn(const Attempt& attempt, const Outcome& outcome) {
    const bool refuted = outcome.verdict == Verdict::unsat;
    const bool has_sums =
        attempt.at_once || (outcome.formula && outcome.formula->nearly_complete());
    at_once_ = at_once_ || outcome.overflowed || (!refuted && !has_sums);
    again_ = !has_sums && !refuted && outcome.found.empty();
    for (const Schedule& schedule : outcome.found)
      if (found_) found_(schedule);
    if (!outcome.found.empty()) result_.best = outcome.found.back();
    if (refuted) {
      from_ = std::max(from_, outcome.found.empty() ? *attempt.deadline + 1 : result_.best->length);
      result_.low = std::max(result_.low, from_);
    }
    if ((!refuted || outcome.conflicts < kEasyConflicts) && slack_ < high_) slack_ *= 2;
    search_.report.state().length_low = result_.low;
    if (result_.best) search_.report.state().length_high = result_.best->length;
    const bool kept = outcome.formula && keep(attempt, outcome, has_sums);
    if (kept && attempt.is_tight) most_attempts_ = kFewAttempts;
    return kept;
  }

 private:
  // Is the formula of an attempt that has not settled all the one to go on with from now on? One
  // that found a model is, and so is one of fewer stages than the one before, with most sums.
  bool keep(const Attempt& attempt, const Outcome& outcome, bool has_sums) {
    if (*attempt.deadline < deadline()) return false;
    const Cycle stages = *attempt.deadline / ii_ + 1;
    if (outcome.found.empty() && (!has_sums || (kept_ > 0 && kept_ <= stages))) return false;
    kept_ = stages;
    return go_on_ = true;
  }

  Attempt attempt(Attempt::Kind kind, Cycle deadline, int number, std::int64_t limit) const {
    Attempt plan{kind, ii_, result_.low, deadline, number, limit, at_once_};
    plan.is_long = search_.budget.conflicts() >= kLong;
    return plan;
  }
  Cycle deadline() const { return result_.best ? result_.best->length - 1 : high_; }
  std::int64_t limit() const { return kModelConflicts * luby(std::max(1, attempts_)); }
  // The deadline to ask: one stage more has more variables. What is proved is not asked.
  void raise() {
    for (bool refuted = true; refuted;) {
      const Cycle stage_end = (from_ / ii_ + 1) * ii_ - 1;
      Cycle deadline = std::min(from_ + slack_, high_);
      if (asked_ < stage_end) deadline = std::min(deadline, stage_end);
      asked_ = deadline;
      refuted = asked_ < result_.low && asked_ < high_;
      if (!refuted) return;
      from_ = std::max(from_, asked_ + 1);
      slack_ *= 2;
      ++number_;
    }
  }
  // Where deadlines rise from: `low`, or less where that is a bound by copies in order or by two
  // units. These prove more than the others, but from them on the attention graphs take more
  // conflicts than from those.
  static Cycle guide(const Problem& problem, Cycle ii, Cycle low) {
    const std::vector<Bound> plain = plain_length_bounds(problem, ii);
    if (plain.empty() || plain.front().value >= low) return low;
    return length_bounds(problem, ii).front().value == low ? plain.front().value : low;
  }

  const Search& search_;
  LengthResult& result_;
  const Found& found_;
  Cycle ii_, high_;
  Cycle from_;  // deadlines are this and a slack
  Cycle slack_, asked_ = -1;
  Cycle kept_ = 0;  // stages of the formula at hand
  int number_ = 0, attempts_ = 0, most_attempts_ = kLengthAttempts;
  bool begun_ = false, at_once_ = false, again_ = false, go_on_ = false;
};

}  // namespace

LengthResult shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high,
                             const std::function<void(const Schedule&)>& found) {
  // Down from the attempt's deadline to what is proved.
  const auto descend = [&](const Attempt& attempt, const Search& lane, IncrementalSolver& solver,
                           Outcome& outcome) {
    std::int64_t limit = attempt.limit;
    const std::int64_t before = lane.budget.conflicts();
    for (Cycle deadline = *attempt.deadline; deadline >= attempt.low;) {
      const Answer answer = solver.ask(ii, deadline, limit);
      outcome.overflowed = solver.overflowed();
      outcome.conflicts = lane.budget.conflicts() - before;
      if (answer.verdict == Verdict::unknown) return;
      if (answer.verdict == Verdict::unsat) break;
      outcome.found.push_back(shortened(search, *answer.schedule));
      lane.report.state().length_high = outcome.found.back().length;
      deadline = outcome.found.back().length - 1;
      if (limit > 0) limit = std::max(limit, kNextModelConflicts);
    }
    outcome.verdict = Verdict::unsat;
  };
  const auto start = [&](const Attempt& attempt, Search& lane) {
    Outcome outcome;
    lane.seed += static_cast<std::uint64_t>(attempt.number);
    lane.budget.complete([&] {  // what was found counts
      OrderRequest request = request_within(lane, ii, *attempt.deadline);
      outcome.formula =
          std::make_unique<IncrementalSolver>(lane, attempt.asked(std::move(request)));
      descend(attempt, lane, *outcome.formula, outcome);
    });
    return outcome;
  };
  LengthResult result{Verdict::unknown, std::nullopt, low};
  LengthLadder ladder(search, result, ii, high, found);
  climb<LengthLadder>(search, ladder, start, descend);
  if (ladder.settled()) result.verdict = result.best ? Verdict::sat : Verdict::unsat;
  return result;
}

}  // namespace twill::order
