#include "engine/certificate/claims.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace twill {
namespace {

constexpr std::size_t kGoalsNamed = 8;  // in a sentence about the goal after them

std::string decimal_text(Cycle x) {
  return std::to_string(x);
}

class SolutionClaims {
 public:
  SolutionClaims(const Problem& problem, const Solution& solution,
                 std::span<const Refutation> refutations, std::span<const std::string> names,
                 const RegisterSplit* split, const Evidence* known)
      : problem_(problem),
        solution_(solution),
        refutations_(refutations),
        names_(names),
        split_(split),
        known_(known),
        asked_(asked_of(solution)),
        derivation_(problem, asked_, own_refutations(), known_bound(problem)) {}

  Claims run() {
    derive();
    Claims claims{derivation_.claims(), derivation_.bounds(), derivation_.times(),
                  goal_bounds_,         derivation_.needed(), derivation_.unproved()};
    std::sort(claims.needed.begin(), claims.needed.end());
    return claims;
  }

 private:
  bool unproved(const std::string& what) { return derivation_.unproved(what); }

  std::optional<Bound> known_bound(const Problem& problem) const {
    const KnownProblem* const known = known_ == nullptr ? nullptr : known_->known(problem);
    return known == nullptr ? std::nullopt : known->bound;
  }

  // Of the problem itself, not of a corner.
  std::vector<UsableRefutation> own_refutations() const {
    std::vector<UsableRefutation> own;
    for (std::size_t i = 0; i < refutations_.size(); ++i)
      if (refutations_[i].counts.empty())
        own.push_back({&refutations_[i], &problem_, i, names_[i]});
    return own;
  }

  void derive() {
    if (!asked_.unreadable.empty()) return void(unproved(asked_.unreadable));
    if (asked_.registers != (split_ != nullptr))
      return void(unproved(split_ == nullptr ? "that no other register split is better"
                                             : "the schedule's register split was not a choice"));
    const bool none = solution_.status == Status::infeasible;
    if (asked_.better_than && !none)
      return void(unproved("that the schedule is better than what was asked for"));
    if (!none && (!within_slack() || !consistent())) return;
    if (split_ != nullptr ? !every_split() : none ? !no_schedule() : !one_problem()) return;
    if (solution_.schedule && !none) goals();
  }

  // A schedule is one of those searched, and where it is called optimal it meets its bounds.
  bool consistent() {
    if (!solution_.schedule) return true;
    const std::string beyond = beyond_asked(problem_, asked_, *solution_.schedule);
    if (!beyond.empty())
      return unproved("the schedule is none of those searched (" + asked_.restriction +
                      "): " + beyond);
    if (solution_.status != Status::optimal) return true;
    const Schedule& schedule = *solution_.schedule;
    if (timed()) {
      if (solution_.whole_time->cycles != solution_.whole_time->lower_bound)
        return unproved("T = " + decimal_text(solution_.whole_time->cycles) +
                        " is called optimal, its bound is " +
                        decimal_text(solution_.whole_time->lower_bound));
    } else if (!asked_.ii && schedule.initiation_interval != solution_.ii_lower_bound)
      return unproved("I = " + decimal_text(schedule.initiation_interval) +
                      " is called optimal, its bound is " + decimal_text(solution_.ii_lower_bound));
    if (solution_.length_slack) return has_length_goal();
    if (schedule.length != solution_.length_lower_bound)
      return unproved("L = " + decimal_text(schedule.length) + " is called optimal, its bound is " +
                      decimal_text(solution_.length_lower_bound));
    return true;
  }

  // Where goals may cost cycles of L, the schedule is as much longer as they are, and not more;
  // that it is no longer than they ask for is a goal itself.
  bool within_slack() {
    if (!solution_.length_slack) return true;
    const auto [cycles, at_most] = *solution_.length_slack;
    const std::string given = decimal_text(cycles) + " cycles of L for goals";
    if (split_ != nullptr || solution_.whole_time || asked_.better_than)
      return unproved(given + " beside a register split, a whole time or something better");
    if (at_most < solution_.length_lower_bound || at_most - solution_.length_lower_bound > cycles)
      return unproved(given + ": at most " + decimal_text(at_most) +
                      " is not within them of L >= " + decimal_text(solution_.length_lower_bound));
    if (solution_.schedule && solution_.schedule->length > at_most)
      return unproved(given + ": L = " + decimal_text(solution_.schedule->length) +
                      " is more than the " + decimal_text(at_most) + " that are allowed");
    return true;
  }

  bool has_length_goal() {
    const bool has = std::any_of(solution_.goals.begin(), solution_.goals.end(),
                                 [](const Goal& goal) { return goal.name == kLengthGoal; });
    return has || unproved("that the schedule is no longer than its goals ask for");
  }

  bool timed() const { return solution_.whole_time && !asked_.ii; }

  // With one I asked for, what else is known of smaller ones can be nothing.
  bool claims_interval() const { return !asked_.ii || solution_.ii_lower_bound > 1; }

  // Where there is none at any I, a bound on I says nothing more.
  bool no_schedule() {
    if (asked_.better_than) return derivation_.none_better(*asked_.better_than);
    return derivation_.none() &&
           (!asked_.ii || !claims_interval() || derivation_.interval(solution_.ii_lower_bound));
  }

  bool one_problem() {
    if (claims_interval() && !derivation_.interval(solution_.ii_lower_bound)) return false;
    if (solution_.schedule && solution_.length_lower_bound > 0 && !length_by_time() &&
        !derivation_.length(solution_.schedule->initiation_interval, solution_.length_lower_bound))
      return false;
    return !claims_time() || time_of(derivation_);
  }

  // Would a shorter schedule at the same I take less time than any does?
  bool length_by_time() const {
    return claims_time() && solution_.schedule &&
           solution_.whole_time->lower_bound >= whole_time(solution_.whole_time->iterations,
                                                           solution_.schedule->initiation_interval,
                                                           solution_.length_lower_bound);
  }

  bool claims_time() const { return timed() && solution_.whole_time->lower_bound > 0; }
  bool time_of(Derivation& derivation) const {
    const WholeTime& time = *solution_.whole_time;
    const bool all = solution_.status == Status::optimal;
    return derivation.whole_time(time.iterations, time.lower_bound,
                                 all ? solution_.schedule->initiation_interval : 0,
                                 std::max<Cycle>(1, solution_.ii_lower_bound));
  }

  // The bounds for all register splits (split_cover.cpp): of each corner, and the corners cover.
  bool every_split() {
    std::string fault = split_fault(problem_, *split_);
    if (!fault.empty()) return unproved("the register split: " + fault);
    if (solution_.schedule && split_->counts.empty())
      return unproved("which register split the schedule is for");
    if (!options_agree()) return false;
    if (solution_.length_lower_bound > 0 && least_length() == 0 && !length_by_time())
      return unproved("a bound on lengths above the bound on intervals, of all register splits");
    if (!split_->counts.empty()) say_chosen();
    const std::string says = says_of_all();
    if (says.empty()) return true;
    const bool pinned = !problem_.pins.empty();
    fault = cover_fault(problem_, *split_, pinned);
    if (!fault.empty()) return unproved("all register splits: " + fault);
    say_covered(says, pinned);
    return std::all_of(split_->corners.begin(), split_->corners.end(),
                       [&](const RegisterCounts& corner) { return of_corner(corner); });
  }

  // The schedule file speaks of the same split.
  bool options_agree() {
    const auto expected = split_options(problem_, split_->pool, split_->counts);
    const auto has = [](const auto& options, const auto& option) {
      return std::find(options.begin(), options.end(), option) != options.end();
    };
    for (const auto& option : expected)
      if (!has(solution_.options, option))
        return unproved("the schedule's option " + option.first + " is not " + option.second);
    for (const auto& option : solution_.options)
      if (option.first.starts_with("setmaxnreg ") && !has(expected, option))
        return unproved("the schedule's option " + option.first + " is of no share of the split");
    return true;
  }

  void say_chosen() {
    const RegisterPool& pool = split_->pool;
    int warpgroups = 0;
    for (const RegisterPool::Share& share : pool.shares) warpgroups += share.warpgroups;
    derivation_.say(
        "the problem has a register split, " + counts_text(problem_, pool, split_->counts),
        "multiples of " + decimal_text(pool.granule) + " from " + decimal_text(pool.min) + " to " +
            decimal_text(pool.max) + " that add up to " +
            decimal_text(registers_used(pool, split_->counts)) + " over the warpgroups, of " +
            decimal_text(warpgroups) + " x " + decimal_text(pool.launch) +
            " at launch; results may hold them less the " + decimal_text(pool.resident) +
            " that are resident");
  }

  // What is claimed of every split, and so of every corner; "" = nothing.
  std::string says_of_all() const {
    const std::string no = "no register split has a schedule";
    if (asked_.better_than) {
      const auto& [ii, length] = *asked_.better_than;
      return no + " with I < " + decimal_text(ii) +
             (length > 0
                  ? ", nor one with I = " + decimal_text(ii) + " and L < " + decimal_text(length)
                  : "");
    }
    if (solution_.status == Status::infeasible)
      return asked_.ii ? no + " with I = " + decimal_text(*asked_.ii) : no;
    std::string says;
    if (claims_interval()) says = " with I < " + decimal_text(solution_.ii_lower_bound);
    if (least_length() > 0)
      says += (says.empty() ? "" : ", nor one") + std::string(" with I = ") +
              decimal_text(solution_.schedule->initiation_interval) + " and L < " +
              decimal_text(least_length());
    if (claims_time())
      says += (says.empty() ? "" : ", nor one") + std::string(" of fewer than ") +
              decimal_text(solution_.whole_time->lower_bound) + " cycles for " +
              decimal_text(solution_.whole_time->iterations) + " iterations";
    return says.empty() ? "" : no + says;
  }

  void say_covered(const std::string& says, bool pinned) {
    const RegisterPool& pool = split_->pool;
    std::string exchanged;
    const std::vector<std::size_t> first = exchangeable_shares(problem_, pool, pinned);
    for (std::size_t s = 0; s < first.size(); ++s)
      if (first[s] != s) exchanged = " (counts of slots that can change places in any order)";
    const std::size_t corners = split_->corners.size();
    derivation_.say(
        says, "every split" + exchanged + " has at most the counts " +
                  (corners == 1 ? "that follow"
                                : "of one of the " + std::to_string(corners) + " that follow") +
                  ", and what is a schedule with some registers is one with more");
  }

  // The bound on the length at the schedule's I, where it is one together with that on I.
  Cycle least_length() const {
    if (!solution_.schedule || solution_.status == Status::infeasible || timed()) return 0;
    if (!asked_.ii && solution_.ii_lower_bound != solution_.schedule->initiation_interval) return 0;
    return solution_.length_lower_bound;
  }

  bool of_corner(const RegisterCounts& corner) {
    const Problem relaxed = problem_at(problem_, split_, corner);
    std::vector<Problem> problems;
    problems.reserve(refutations_.size());
    std::vector<UsableRefutation> usable;
    for (std::size_t i = 0; i < refutations_.size(); ++i) {
      if (!at_most(corner, refutations_[i].counts)) continue;
      problems.push_back(problem_at(problem_, split_, refutations_[i].counts));
      usable.push_back({&refutations_[i], &problems.back(), i, names_[i]});
    }
    const std::string with = "with " + counts_text(problem_, split_->pool, corner) + ": ";
    corner_ = corner;
    Derivation derivation(relaxed, asked_, usable, known_bound(relaxed));
    derivation.prefer(derivation_.needed());
    if (solution_.status != Status::infeasible) {
      const Derivation bounds = corner_bounds(derivation);
      if (bounds.unproved().empty()) return take(bounds, with);
      if (derivation.none()) return take(derivation, with);
      return unproved(with + bounds.unproved());
    }
    if (asked_.better_than) {
      Derivation better = derivation;
      if (better.none_better(*asked_.better_than)) return take(better, with);
      if (!derivation.none()) return unproved(with + better.unproved());
      return take(derivation, with);
    }
    return derivation.none() ? take(derivation, with) : unproved(with + derivation.unproved());
  }

  // Tries the larger of the intervals first: where it is refuted too, lengths play no part.
  Derivation corner_bounds(Derivation derivation) const {
    const Cycle length = least_length();
    if (!asked_.ii && length > 0) {
      Derivation above = derivation;
      if (above.interval(solution_.ii_lower_bound + 1)) return above;
    }
    if (claims_interval() && !derivation.interval(solution_.ii_lower_bound)) return derivation;
    if (length > 0) derivation.length(solution_.schedule->initiation_interval, length);
    if (claims_time()) time_of(derivation);
    return derivation;
  }

  bool take(const Derivation& corner, const std::string& with) {
    derivation_.take(corner, with, corner_);
    derivation_.prefer(corner.needed());
    return true;
  }

  // Each goal within the values of those before it, at the schedule's I and L.
  void goals() {
    const Schedule& schedule = *solution_.schedule;
    if (const auto& slack = solution_.length_slack)
      derivation_.say("the schedule has I = " + decimal_text(schedule.initiation_interval) +
                          " and L = " + decimal_text(schedule.length) +
                          " <= " + decimal_text(slack->at_most),
                      "goals may cost " + decimal_text(slack->cycles) +
                          " cycles of L beyond the shortest of all layouts, which is " +
                          decimal_text(slack->at_most - slack->cycles));
    GoalLimits limits;
    for (const Goal& goal : solution_.goals) {
      const std::int64_t value = goal_value(problem_, schedule, parse_goal(problem_, goal.name));
      if (value != goal.value || goal.lower_bound > goal.value)
        return void(unproved("the schedule's " + goal.name + " is " + decimal_text(value) +
                             ", not " + decimal_text(goal.value)));
      // Named again, a goal says nothing that it has not said.
      const auto named = std::find_if(solution_.goals.begin(), solution_.goals.end(),
                                      [&](const Goal& other) { return other.name == goal.name; });
      if (&*named != &goal) {
        if (named->lower_bound < goal.lower_bound)
          return void(unproved("a second bound on " + goal.name));
        continue;
      }
      if (goal.lower_bound > 0) {
        limits.emplace_back(goal.name, goal.lower_bound - 1);
        if (!goal_bound(goal, limits)) return;
        limits.pop_back();
      }
      limits.emplace_back(goal.name, goal.value);
    }
  }

  bool goal_bound(const Goal& goal, const GoalLimits& limits) {
    const Schedule& schedule = *solution_.schedule;
    const GoalMeasure measure = parse_goal(problem_, goal.name);
    const Cycle longest =
        solution_.length_slack ? solution_.length_slack->at_most : schedule.length;
    std::string says = split_ == nullptr ? "" : "with the problem's own split: ";
    says += "at I = " + decimal_text(schedule.initiation_interval) +
            (solution_.length_slack ? " and L <= " : " and L = ") + decimal_text(longest);
    const std::size_t before = limits.size() - 1;
    for (std::size_t i = 0; i < std::min(before, kGoalsNamed); ++i)
      says += ", " + limits[i].first + " <= " + decimal_text(limits[i].second);
    if (before > kGoalsNamed)
      says += ", the next " + std::to_string(before - kGoalsNamed) + " goals as they are";
    says += ", " + goal.name + " is not below " + decimal_text(goal.lower_bound);
    if (measure.kind->is_length) {
      if (!solution_.length_slack)
        return unproved("a goal \"length\" that may cost no cycles of L");
      if (goal.lower_bound <= solution_.length_lower_bound) {
        derivation_.say(says, measure.kind->reason);
        return true;
      }
    }
    if (goal.lower_bound <= least_goal_value(problem_, measure)) {
      derivation_.say(says, measure.kind->reason);
      goal_bounds_.push_back({measure, goal.lower_bound});
      return true;
    }
    return derivation_.within(limits, schedule.initiation_interval,
                              deadline_within(limits, longest), says);
  }

  const Problem& problem_;
  const Solution& solution_;
  std::span<const Refutation> refutations_;
  std::span<const std::string> names_;
  const RegisterSplit* split_;
  const Evidence* known_;
  const Asked asked_;
  Derivation derivation_;
  RegisterCounts corner_;  // at hand
  std::vector<GoalBoundUse> goal_bounds_;
};

}  // namespace

Claims claims_of(const Problem& problem, const Solution& solution,
                 std::span<const Refutation> refutations, std::span<const std::string> names,
                 const RegisterSplit* split, const Evidence* known) {
  return SolutionClaims(problem, solution, refutations, names, split, known).run();
}

}  // namespace twill
