// The driver of the order engine's searches: for the smallest I (interval.cpp) and for the smallest
// length (length.cpp).
//
// How long an attempt takes varies by orders of magnitude with its seed and its form (Gomes, Selman
// and Kautz, AAAI 1998). So a search is a ladder of short attempts, each with a limit on its
// conflicts. A policy says which comes next, by the outcomes so far. The driver makes them, and
// keeps one formula at hand that goes on between the others: what it has learned is what a
// refutation needs. Attempts with formulas of their own are begun ahead of time on other threads
// (engine/race.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/order/incremental_solver.hpp"
#include "engine/race.hpp"
#include "engine/time_indexed/time_indexed.hpp"
#include "graph/log.hpp"

namespace twill::order {

/// A refutation of fewer conflicts says that deadlines are far from a schedule.
inline constexpr std::int64_t kEasyConflicts = 100;

/// A long search asks for a schedule that is longer than the bound by one in so many at most, with
/// so many conflicts and the first seed: formulas that are so small find one soon, if at all.
inline constexpr Cycle kTight = 32;
inline constexpr std::int64_t kTightConflicts = 16'000;

/// Is it such a search by now? (In loops of more ops other schedules are looked for.)
inline bool asks_short_ones(const Search& search) {
  return search.problem.ops.size() <= kManyOps && search.budget.conflicts() >= kLong;
}

struct Attempt {
  enum Kind {
    at_bound,     ///< a new formula at the bound on I, for a schedule only
    below,        ///< a new formula below the best, for a schedule or a refutation
    short_below,  ///< the same among short schedules only, for schedules only
    coarse,       ///< the time-indexed engine on a coarse copy of the loop, for a schedule only
    list,         ///< the list scheduler, for a schedule only
    copies,       ///< the loop that this one is unrolled from, for a schedule only
    go_on,        ///< the formula at hand, below the best; one anew where it does not hold there
    near,         ///< the formula at hand in neighbourhoods of the best, for a schedule only
  } kind = below;
  Cycle ii = 1;                          ///< asked for
  Cycle low = 1;                         ///< proved: of I, or of the length where that is searched
  std::optional<Cycle> deadline = {};    ///< the greatest length
  int number = 0;                        ///< of the seed
  std::int64_t limit = 0;                ///< conflicts; 0 = none
  bool at_once = false;                  ///< OrderRequest::at_once
  bool is_long = false;                  ///< of a long search: OrderRequest::full_units
  bool is_tight = false;                 ///< of kTight: what is found at the bound is shortened
  bool replaces = false;                 ///< below: its formula is at hand from now on
  time_indexed::CoarseProbe probe = {};  ///< coarse
  bool operator==(const Attempt&) const = default;

  /// The request with what the attempt asks for.
  OrderRequest asked(OrderRequest request) const {
    request.at_once = at_once;
    if (is_long) request.full_units.ii = request.ii_high;
    return request;
  }
  bool is_at_hand() const { return kind == go_on || kind == near; }
};

struct Outcome {
  /// sat = found, what else there is is open; unsat = nothing better than the last that was found.
  Verdict verdict = Verdict::unknown;
  std::vector<Schedule> found;  ///< each better than the one before
  std::unique_ptr<IncrementalSolver>
      formula;              ///< of `below`: one formula serves as long as I falls,
  Cycle lowest = 1;         ///< to here
  bool overflowed = false;  ///< IncrementalSolver::overflowed()
  std::int64_t conflicts = 0;

  void take(Answer answer) {
    verdict = answer.verdict;
    if (answer.schedule) found.push_back(*std::move(answer.schedule));
  }
};

/// Until the policy has no more or the budget is spent. The policy can be copied, to look ahead:
///   std::optional<Attempt> next();               what comes where nothing has been decided since
///   bool learn(const Attempt&, const Outcome&);  is its formula the one at hand from now on?
/// `start` makes an attempt with a formula of its own by a lane's search, on any thread. `go_on`
/// makes one with the formula at hand.
template <class Policy>
void climb(const Search& search, Policy& policy, const Race<Attempt, Outcome>::Attempt& start,
           const std::function<void(const Attempt&, const Search& lane, IncrementalSolver& at_hand,
                                    Outcome& outcome)>& go_on) {
  Race<Attempt, Outcome> race(search, start);
  std::shared_ptr<Lane> lane;  // of the formula at hand
  std::unique_ptr<IncrementalSolver> at_hand;
  Cycle lowest = 1;
  while (std::optional<Attempt> attempt = policy.next()) {
    TWILL_LOG("attempt ", attempt->number, " of kind ", attempt->kind, ": I = ", attempt->ii,
              attempt->deadline ? ", D = " + std::to_string(*attempt->deadline) : "", ", limit ",
              attempt->limit);
    Outcome outcome;
    if (attempt->is_at_hand() && at_hand && attempt->ii >= lowest) {
      search.budget.complete([&] { go_on(*attempt, lane->search(), *at_hand, outcome); });
      policy.learn(*attempt, outcome);
    } else if (attempt->kind == Attempt::near) {
      policy.learn(*attempt, outcome);
    } else {
      std::vector<Attempt> later;
      for (Policy ahead = policy; later.size() < race.lanes_ahead();) {
        const std::optional<Attempt> one = ahead.next();
        if (!one) break;
        if (!one->is_at_hand()) later.push_back(*one);
      }
      Attempt anew = *attempt;
      if (anew.kind == Attempt::go_on) anew.kind = Attempt::below;
      auto taken = race.take(anew, later);
      outcome = std::move(taken.outcome);
      if (policy.learn(*attempt, outcome)) {
        at_hand = std::move(outcome.formula);
        lowest = outcome.lowest;
        lane = std::move(taken.lane);
      }
    }
    TWILL_LOG("  ", to_string(outcome.verdict), ", ", outcome.found.size(), " schedules, ",
              search.budget.conflicts(), " conflicts in all");
    if (search.budget.spent()) return;
  }
}

}  // namespace twill::order
