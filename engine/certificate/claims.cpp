#include "engine/certificate/claims.hpp"

#include <algorithm>
#include <optional>

#include "graph/automorphism.hpp"
#include "graph/bounds.hpp"
#include "graph/length_bound.hpp"
#include "graph/serial.hpp"
#include "graph/stage_bound.hpp"

namespace twill {
namespace {

constexpr std::size_t kGoalsNamed = 8;  // in a sentence about the goal after them

// What the solution was asked for, from its options.
struct Asked {
  Cycle stage_limit = 0;    // 0 = all
  std::optional<Cycle> ii;  // only this one
  bool handover = true;
  std::vector<std::pair<int, int>> pins;
  std::string unreadable;
};

Cycle number(const std::string& text) {
  Cycle value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > kMaxCycles * Cycle{kMaxOps}) return -1;
    value = 10 * value + (c - '0');
  }
  return text.empty() ? -1 : value;
}

Asked asked(const Problem& problem, const Solution& solution) {
  Asked a;
  if (solution.stages != "complete") {
    a.stage_limit = number(solution.stages);
    if (a.stage_limit < 1) a.unreadable = "stages searched: " + solution.stages;
  }
  for (const auto& [name, value] : solution.options) {
    if (name == "ii") {
      a.ii = number(value);
      if (*a.ii < 1) a.unreadable = "option ii: " + value;
    } else if (name == "handover") {
      a.handover = value != "no";
    } else if (name.starts_with("pin ")) {
      std::pair<int, int> pin{-1, -1};
      for (std::size_t v = 0; v < problem.ops.size(); ++v)
        if (problem.ops[v].id == name.substr(4)) pin.first = static_cast<int>(v);
      for (std::size_t w = 0; w < problem.warps.size(); ++w)
        if (problem.warps[w].name == value) pin.second = static_cast<int>(w);
      if (pin.first < 0 || pin.second < 0) a.unreadable = "option " + name + ": " + value;
      a.pins.push_back(pin);
    }
  }
  return a;
}

bool covers_placement(const PlacementRequest& request, const Asked& asked) {
  return !request.parts && (request.handover || !asked.handover) &&
         std::all_of(request.pins.begin(), request.pins.end(), [&](const auto& pin) {
           return std::find(asked.pins.begin(), asked.pins.end(), pin) != asked.pins.end();
         });
}

// Does the formula of `r` have a model for every schedule of `problem` at r.ii (and of a length up
// to r.deadline) that was asked for?
bool covers(const Problem& problem, const Refutation& r, const Asked& asked) {
  if (r.ii < 1) return false;
  Cycle stages = 0;  // 0 = any number
  int pinned = -1;
  if (const auto* order = std::get_if<OrderRequest>(&r.request)) {
    if (!covers_placement(*order, asked)) return false;
    if (r.ii < order->ii_low || r.ii > order->ii_high || order->ii_low < 1 ||
        !order_range_allowed(problem, order->ii_low, order->ii_high))
      return false;
    if (order->deadline != (r.deadline >= 0)) return false;
    if (order->ii_low < order->ii_high && !limited(problem, r.limits).placement.latest.empty())
      return false;  // of a cycle at one I
    // What the formula leaves out is a schedule that it has, with ops in each other's places.
    if (!order->exchange.empty() &&
        (!order->pins.empty() || !is_exchange(problem, order->exchange) ||
         !limited(problem, r.limits).problem.pins.empty() ||
         limited(problem, r.limits).placement.single_out()))
      return false;
    stages = order->stages;
    pinned = order->pinned;
  } else {
    const auto& modulo = std::get<ModuloRequest>(r.request);
    if (!covers_placement(modulo, asked) || modulo.ii != r.ii) return false;
    if (r.deadline >= 0 ? modulo.length_low > r.deadline || modulo.length_high < r.deadline
                        : modulo.length_high >= 0)
      return false;
    stages = modulo.stages;
    pinned = modulo.pinned;
  }
  if (pinned >= static_cast<int>(problem.ops.size())) return false;
  if (pinned >= 0 && latest_pinned_cycle(problem) >= 0) return false;  // may not be rotated
  // No search needs more, and a formula's size grows with its stages. (A question about lengths can
  // begin with a schedule whose last op runs on after the last stage.)
  const Cycle enough = stage_bound(problem, r.ii);
  const Cycle horizon = r.deadline >= 0 ? r.deadline / r.ii + 1 : 0;
  Cycle longest = 0;
  for (const Op& op : problem.ops) longest = std::max(longest, op.cycles);
  const Cycle running_on = r.deadline >= 0 ? 1 + longest / r.ii : 0;
  if (stages > std::max(enough + 1 + running_on, horizon)) return false;
  // Rotating a schedule, so that the pinned op has row 0, changes its length and can add a stage.
  if (r.deadline >= 0 && pinned >= 0) return false;
  if (stages == 0) return true;
  if (asked.stage_limit > 0 && pinned < 0 && stages >= asked.stage_limit) return true;
  if (r.deadline >= 0 && stages >= horizon) return true;  // a zero-cycle op may start at the end
  return stages >= enough + (pinned >= 0 ? 1 : 0);
}

std::string text(Cycle x) {
  return std::to_string(x);
}

class Derivation {
 public:
  Derivation(const Problem& problem, const Solution& solution,
             std::span<const Refutation> refutations, std::span<const std::string> names)
      : problem_(problem),
        solution_(solution),
        refutations_(refutations),
        names_(names),
        asked_(asked(problem, solution)) {}

  Claims run() {
    if (!asked_.unreadable.empty()) {
      claims_.unproved = asked_.unreadable;
      return claims_;
    }
    if (solution_.status == Status::infeasible) {
      none();
    } else {
      if (!asked_.ii) interval();
      if (solution_.schedule) length();
      if (solution_.schedule) goals();
    }
    std::sort(claims_.needed.begin(), claims_.needed.end());
    return std::move(claims_);
  }

 private:
  void say(const std::string& says, const std::string& because) {
    claims_.claims.push_back({says, because});
  }
  void unproved(const std::string& what) {
    if (claims_.unproved.empty()) claims_.unproved = what;
  }
  std::string refutation(std::size_t i) {
    claims_.needed.push_back(i);
    return "refutation " + names_[i];
  }
  // A refutation of any length at `ii` (or above, if `or_above`), the one with the largest I.
  std::optional<std::size_t> refuted(Cycle ii, bool or_above) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < refutations_.size(); ++i) {
      const Refutation& r = refutations_[i];
      if (!r.limits.empty() || r.serial || r.deadline >= 0 || (or_above ? r.ii < ii : r.ii != ii))
        continue;
      if (covers(problem_, r, asked_) && (!best || r.ii > refutations_[*best].ii)) best = i;
    }
    return best;
  }

  void interval() {
    const Cycle claimed = solution_.ii_lower_bound;
    if (solution_.status == Status::optimal && solution_.schedule &&
        solution_.schedule->initiation_interval != claimed)
      unproved("I = " + text(solution_.schedule->initiation_interval) +
               " is called optimal, its bound is " + text(claimed));
    const Bound bound = lower_bounds(problem_).front();
    const std::string says = "no schedule has I < " + text(claimed);
    if (claimed <= bound.value) {
      say(says, bound.name + ": " + bound.text);
      return;
    }
    const Cycle monotone = std::min(claimed, monotone_from(problem_).value_or(claimed));
    if (bound.value > 1 && bound.value < monotone)
      say("no schedule has I < " + text(bound.value), bound.name + ": " + bound.text);
    if (!one_by_one(bound.value, monotone) || monotone == claimed) return;
    const auto i = refuted(claimed - 1, true);
    if (!i) return unproved(says);
    say(says, refutation(*i) + " of I = " + text(refutations_[*i].ii) +
                  "; feasibility is monotone in I" +
                  (monotone > 1 ? " from I = " + text(monotone) + " on" : "") +
                  ", because every reservation is one segment from its op's issue, so that an idle "
                  "cycle can be inserted into every period");
  }

  // Each I from `first` to `end` - 1 has a refutation of its own.
  bool one_by_one(Cycle first, Cycle end) {
    for (Cycle ii = first; ii < end; ++ii) {
      const auto i = refuted(ii, false);
      if (!i) unproved("no schedule has I = " + text(ii));
      if (!i) return false;
      say("no schedule has I = " + text(ii), refutation(*i));
    }
    return true;
  }

  void length() {
    const Cycle ii = solution_.schedule->initiation_interval,
                claimed = solution_.length_lower_bound;
    if (solution_.status == Status::optimal && solution_.schedule->length != claimed)
      unproved("L = " + text(solution_.schedule->length) + " is called optimal, its bound is " +
               text(claimed));
    if (claimed <= 0) return;
    const std::string says = "at I = " + text(ii) + " no schedule has L < " + text(claimed);
    const std::vector<Bound> bounds = length_bounds(problem_, ii);
    if (!bounds.empty() && claimed <= bounds.front().value) {
      say(says, bounds.front().name + ": " + bounds.front().text);
      return;
    }
    for (std::size_t i = 0; i < refutations_.size(); ++i) {
      const Refutation& r = refutations_[i];
      if (!r.limits.empty() || r.serial || r.ii != ii || r.deadline < claimed - 1 ||
          !covers(problem_, r, asked_))
        continue;
      say(says, refutation(i) + " of L <= " + text(r.deadline));
      return;
    }
    unproved(says);
  }

  // Each goal within the values of those before it, at the schedule's I and L.
  void goals() {
    const Schedule& schedule = *solution_.schedule;
    GoalLimits limits;
    for (const Goal& goal : solution_.goals) {
      const std::int64_t value = goal_value(problem_, schedule, parse_goal(problem_, goal.name));
      if (value != goal.value || goal.lower_bound > goal.value)
        return unproved("the schedule's " + goal.name + " is " + text(value) + ", not " +
                        text(goal.value));
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
    std::string says =
        "at I = " + text(schedule.initiation_interval) + " and L = " + text(schedule.length);
    const std::size_t before = limits.size() - 1;
    for (std::size_t i = 0; i < std::min(before, kGoalsNamed); ++i)
      says += ", " + limits[i].first + " <= " + text(limits[i].second);
    if (before > kGoalsNamed)
      says += ", the next " + text(static_cast<Cycle>(before - kGoalsNamed)) + " goals as they are";
    says += ", " + goal.name + " is not below " + text(goal.lower_bound);
    const GoalMeasure measure = parse_goal(problem_, goal.name);
    if (goal.lower_bound <= least_goal_value(problem_, measure)) {
      say(says, measure.kind == GoalMeasure::slots  ? "an op is on a slot"
                : measure.kind == GoalMeasure::slot ? "no slot before it is allowed"
                                                    : "a load has a buffer");
      return true;
    }
    for (std::size_t i = 0; i < refutations_.size(); ++i) {
      const Refutation& r = refutations_[i];
      if (r.limits != limits || r.serial || r.ii != schedule.initiation_interval ||
          r.deadline < schedule.length || !covers(problem_, r, asked_))
        continue;
      say(says, refutation(i));
      return true;
    }
    unproved(says);
    return false;
  }

  void none() {
    if (asked_.ii) {
      const std::string says = "no schedule has I = " + text(*asked_.ii);
      const auto monotone = monotone_from(problem_);
      const auto i = refuted(*asked_.ii, monotone && *monotone <= *asked_.ii);
      if (!i) return unproved(says);
      say(says, refutation(*i));
      return;
    }
    const std::string says = "no schedule exists at any I";
    const Cycle decisive = serial_ii(problem_), latest = latest_pinned_cycle(problem_);
    if (latest > 0) {  // graph/serial.cpp, claim 3
      const Bound bound = lower_bounds(problem_).front();
      say("no schedule has I < " + text(bound.value), bound.name + ": " + bound.text);
      if (!one_by_one(bound.value, latest + 1)) return;
    }
    if (const auto i = refuted(decisive, true)) {
      say(says, refutation(*i) + " of I = " + text(refutations_[*i].ii) +
                    "; from I = " + text(decisive) +
                    " on the ops can run one after the other, so that every I is alike");
      return;
    }
    if (latest > 0) return unproved(says);
    const SerialProblem serial = serial_problem(problem_);
    for (std::size_t i = 0; i < refutations_.size(); ++i) {
      const Refutation& r = refutations_[i];
      if (!r.limits.empty() || !r.serial || r.deadline >= 0 || r.ii != serial.ii ||
          !covers(serial.problem, r, asked_))
        continue;
      say(says, refutation(i) +
                    " of the serial problem (all positive cycles 1) at I = " + text(serial.ii) +
                    ", where only the order of the ops matters, as it does at every large I");
      return;
    }
    unproved(says);
  }

  const Problem& problem_;
  const Solution& solution_;
  std::span<const Refutation> refutations_;
  std::span<const std::string> names_;
  Asked asked_;
  Claims claims_;
};

}  // namespace

Claims claims_of(const Problem& problem, const Solution& solution,
                 std::span<const Refutation> refutations, std::span<const std::string> names) {
  return Derivation(problem, solution, refutations, names).run();
}

}  // namespace twill
