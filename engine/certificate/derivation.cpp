#include "engine/certificate/derivation.hpp"

#include <algorithm>

#include "graph/bounds/automorphism.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/index.hpp"
#include "graph/restriction.hpp"

namespace twill {
namespace {

Cycle number(const std::string& text) {
  Cycle value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > kMaxCycles * Cycle{kMaxOps}) return -1;
    value = 10 * value + (c - '0');
  }
  return text.empty() ? -1 : value;
}

bool covers_placement(const PlacementRequest& request, const Asked& asked) {
  return !request.parts && (request.handover || !asked.handover);
}

// Does the formula of `r` have a model for every schedule of `problem` at r.ii (and of a length up
// to r.deadline) that was asked for? What the encoders take for granted of their request is asked
// here: a manifest can be a liar's.
bool covers(const Problem& problem, const Refutation& r, const Asked& asked) {
  if (r.ii < 1 || parse_encoding(r.encoding).form != Form::modulo) return false;
  const LimitedProblem within = limit_problem(problem, r.limits);
  Cycle stages = 0;  // 0 = any number
  int pinned = -1;
  if (const auto* order = std::get_if<OrderRequest>(&r.request)) {
    if (!covers_placement(*order, asked)) return false;
    if (r.ii < order->ii_low || r.ii > order->ii_high || order->ii_low < 1 ||
        !order_range_allowed(problem, order->ii_low, order->ii_high))
      return false;
    if (order->deadline != (r.deadline >= 0)) return false;
    // Of starts, rings and lengths, a formula speaks at one I.
    if (order->ii_low < order->ii_high && (!r.limits.empty() || r.deadline >= 0)) return false;
    // Lemmas about the sum of lifetimes need stages that are literals, and so have a last one.
    if (within.placement.lifetime >= 0 && order->stages < 1) return false;
    if (order->share < 1 && order->share != OrderRequest::kNone) return false;
    // What the formula leaves out is a schedule that it has, with ops in each other's places.
    if (!order->exchange.empty() && (!is_exchange(problem, order->exchange) ||
                                     !within.problem.pins.empty() || within.placement.single_out()))
      return false;
    if (!order->further_exchanges.empty() && exchanged_chain(problem, *order).empty()) return false;
    stages = order->stages;
    pinned = order->pinned;
  } else {
    const auto& modulo = std::get<ModuloRequest>(r.request);
    if (!covers_placement(modulo, asked) || modulo.ii != r.ii || modulo.stages < 1) return false;
    if (r.deadline >= 0 ? modulo.length_low > r.deadline || modulo.length_high < r.deadline
                        : modulo.length_low != 0 || modulo.length_high >= 0)
      return false;
    stages = modulo.stages;
    pinned = modulo.pinned;
  }
  if (pinned >= static_cast<int>(problem.ops.size()) || stages < 0) return false;
  if (pinned >= 0 && anchored(problem)) return false;  // may not be rotated
  // No search needs more at any I of the formula, and its size grows with its stages. (A question
  // about lengths can begin with a schedule whose last op runs on after the last stage.)
  const Cycle enough = stage_bound(problem, r.ii);
  Cycle most = enough;
  if (const auto* order = std::get_if<OrderRequest>(&r.request))
    for (const Cycle ii : {order->ii_low, order->ii_high})
      most = std::max(most, stage_bound(problem, ii));
  const Cycle horizon = r.deadline >= 0 ? r.deadline / r.ii + 1 : 0;
  Cycle longest = 0;
  for (const Op& op : problem.ops) longest = std::max(longest, op.cycles);
  const Cycle running_on = r.deadline >= 0 ? 1 + longest / r.ii : 0;
  if (stages > std::max(most + 1 + running_on, horizon)) return false;
  // Rotating a schedule, so that the pinned op has row 0, changes its length and can add a stage.
  if (r.deadline >= 0 && pinned >= 0) return false;
  if (stages == 0) return true;
  if (asked.stage_limit > 0 && pinned < 0 && stages >= asked.stage_limit) return true;
  if (r.deadline >= 0 && stages >= horizon) return true;  // a zero-cycle op may start at the end
  // With fewer stages an op's uses can move away from it, which the sum of lifetimes counts and a
  // ring does, also where nothing is held.
  if (within.placement.lifetime >= 0 || !within.placement.precedences.empty()) return false;
  return stages >= enough + (pinned >= 0 ? 1 : 0);
}

std::string text(Cycle x) {
  return std::to_string(x);
}

}  // namespace

Asked asked_of(const Solution& solution) {
  Asked a;
  if (solution.stages != "complete") {
    a.stage_limit = number(solution.stages);
    if (a.stage_limit < 1) a.unreadable = "stages searched: " + solution.stages;
  }
  for (const auto& [name, value] : solution.options) {
    if (name == "ii") {
      a.ii = number(value);
      if (*a.ii < 1) a.unreadable = "option ii: " + value;
    } else if (name == kBetterOption) {
      const std::size_t sign = value.find(", ");
      a.better_than = {number(value.substr(0, sign)),
                       sign == std::string::npos ? 0 : number(value.substr(sign + 2))};
      const auto& [ii, length] = *a.better_than;
      if (ii < 1 || ii > kMaxInterval || length < 0 || length > kMaxStart ||
          better_than_text(*a.better_than) != value)
        a.unreadable = "option " + name + ": " + value;
    } else if (name == "registers") {
      a.registers = value == "auto";
    } else if (name == "handover") {
      a.handover = value != "no";
    } else if (name.starts_with("pin ")) {  // before version 10
      a.unreadable = "option " + name + ": pins are of the problem";
    }
  }
  a.restriction = restriction_of(solution);
  const auto said = std::find_if(solution.options.begin(), solution.options.end(),
                                 [](const auto& o) { return o.first == kRestrictionOption; });
  if ((said == solution.options.end() ? "" : said->second) != a.restriction)
    a.unreadable =
        std::string("option ") + kRestrictionOption + ": is not \"" + a.restriction + "\"";
  return a;
}

std::string better_than_text(const std::pair<Cycle, Cycle>& than) {
  return text(than.first) + (than.second > 0 ? ", " + text(than.second) : "");
}

std::string beyond_asked(const Problem& problem, const Asked& asked, const Schedule& schedule) {
  if (asked.stage_limit > 0 && stage_count(schedule) > asked.stage_limit)
    return "it has " + text(stage_count(schedule)) + " stages";
  if (asked.ii && schedule.initiation_interval != *asked.ii)
    return "its I is " + text(schedule.initiation_interval);
  for (const Edge& e : problem.edges)
    if (!asked.handover && spill_of(problem, e) > 0 &&
        schedule.warp[at(e.from)] != schedule.warp[at(e.to)])
      return problem.ops[at(e.from)].id + " is handed over to " + problem.ops[at(e.to)].id;
  return "";
}

void Derivation::say(const std::string& says, const std::string& because) {
  const std::string among =
      asked_->restriction.empty() ? "" : "among schedules " + asked_->restriction + ": ";
  Claim claim{among + says, because};
  if (claims_.empty() || claims_.back() != claim) claims_.push_back(std::move(claim));
}

void Derivation::take(const Derivation& other, const std::string& with,
                      const RegisterCounts& counts) {
  for (const Claim& claim : other.claims_) claims_.push_back({with + claim.says, claim.because});
  for (BoundUse use : other.bounds_) {
    use.counts = counts;
    bounds_.push_back(std::move(use));
  }
  for (TimeUse use : other.times_) {
    use.counts = counts;
    times_.push_back(std::move(use));
  }
}

bool Derivation::unproved(const std::string& what) {
  if (unproved_.empty()) unproved_ = what;
  return false;
}

std::string Derivation::use(std::size_t i) {
  if (!is_needed(i)) needed_.push_back(refutations_[i].number);
  return "refutation " + refutations_[i].name;
}

bool Derivation::is_needed(std::size_t i) const {
  return std::find(needed_.begin(), needed_.end(), refutations_[i].number) != needed_.end();
}

// A refutation of any length at `ii` (or above, if `or_above`): the one with the largest I of those
// that are needed, or of all.
std::optional<std::size_t> Derivation::refuted(Cycle ii, bool or_above) const {
  std::optional<std::size_t> best;
  const auto rank = [&](std::size_t i) {
    return std::pair(is_needed(i), refutations_[i].refutation->ii);
  };
  for (std::size_t i = 0; i < refutations_.size(); ++i) {
    const Refutation& r = *refutations_[i].refutation;
    if (!r.limits.empty() || r.about != About::problem || r.deadline >= 0 ||
        (or_above ? r.ii < ii : r.ii != ii))
      continue;
    if (covers(*refutations_[i].problem, r, *asked_) && (!best || rank(i) > rank(*best))) best = i;
  }
  return best;
}

const Bound& Derivation::bound() {
  if (!bound_) bound_ = lower_bounds(*problem_).front();
  return *bound_;
}

void Derivation::say_bound() {
  const Bound& least = bound();
  say("no schedule has I < " + text(least.value), least.name + ": " + least.text);
  bounds_.push_back({.ii = std::nullopt, .value = least.value});
}

bool Derivation::interval(Cycle claimed) {
  const Bound& least = bound();
  const std::string says = "no schedule has I < " + text(claimed);
  if (claimed <= least.value) {
    say(says, least.name + ": " + least.text);
    bounds_.push_back({.ii = std::nullopt, .value = claimed});
    return true;
  }
  const Cycle monotone = std::min(claimed, monotone_from(*problem_).value_or(claimed));
  if (least.value > 1 && least.value < monotone) say_bound();
  if (!one_by_one(least.value, monotone)) return false;
  if (monotone == claimed) return true;
  const auto i = refuted(claimed - 1, true);
  if (!i) return unproved(says);
  say(says, use(*i) + " of I = " + text(refutations_[*i].refutation->ii) +
                "; feasibility is monotone in I" +
                (monotone > 1 ? " from I = " + text(monotone) + " on" : "") +
                ", because every reservation is one segment from its op's issue, so that an idle "
                "cycle can be inserted into every period");
  return true;
}

// Each I from `first` to `end` - 1 has a refutation of its own.
bool Derivation::one_by_one(Cycle first, Cycle end) {
  for (Cycle ii = first; ii < end; ++ii) {
    const auto i = refuted(ii, false);
    if (!i) return unproved("no schedule has I = " + text(ii));
    say("no schedule has I = " + text(ii), use(*i));
  }
  return true;
}

bool Derivation::length(Cycle ii, Cycle claimed) {
  const std::string says = "at I = " + text(ii) + " no schedule has L < " + text(claimed);
  for (std::size_t i = 0; i < refutations_.size(); ++i) {
    const Refutation& r = *refutations_[i].refutation;
    if (!r.limits.empty() || r.about != About::problem || r.ii != ii || r.deadline < claimed - 1 ||
        !covers(*refutations_[i].problem, r, *asked_))
      continue;
    say(says, use(i) + " of L <= " + text(r.deadline));
    return true;
  }
  const std::vector<Bound> bounds = length_bounds(*problem_, ii);
  if (!bounds.empty() && claimed <= bounds.front().value) {
    say(says, bounds.front().name + ": " + bounds.front().text);
    bounds_.push_back({.ii = ii, .value = claimed});
    return true;
  }
  return unproved(says);
}

// A bound on L at every I: the longest path, or what one iteration alone was refuted to have.
void Derivation::least_time(WholeTimeQuestion& question, TimeUse& use) {
  use.least = question.least();
  const Problem alone = one_iteration(*problem_);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < refutations_.size(); ++i) {
    const Refutation& r = *refutations_[i].refutation;
    if (!r.limits.empty() || r.about != About::alone || r.deadline < use.least ||
        r.ii < question.apart(r.deadline) ||
        !covers(
            refutations_[i].problem == problem_ ? alone : one_iteration(*refutations_[i].problem),
            r, *asked_))
      continue;
    best = i;
    use.least = r.deadline + 1;
    use.least_at = r.ii;
  }
  const std::string says = "no schedule at any I has L < " + text(use.least);
  if (!best) return say(says, "longest path of one iteration = " + text(use.least));
  question.raise_least(use.least);
  say(says, this->use(*best) + " of L <= " + text(use.least - 1) +
                " by one iteration alone, at an I where iterations do not meet");
}

std::string Derivation::step_text(const TimeUse::Step& step) const {
  std::string of = step.deadline ? " of L <= " + text(*step.deadline) : "";
  of += " at I = " + text(step.at);
  if (step.first < step.at)
    of +=
        "; what is better at a smaller I is no longer at that one, with idle cycles at the ends "
        "of periods";
  if (step.last == TimeUse::kForever) of += "; from that one on every I is alike, up to that L";
  return of;
}

// The intervals from `first` on that one refutation excludes, or one bound on L.
bool Derivation::time_step(const WholeTimeQuestion& question, Cycle first, TimeUse& use) {
  TimeUse::Step step{first, first, 0, std::nullopt};
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < refutations_.size(); ++i) {
    const Refutation& r = *refutations_[i].refutation;
    const auto deadline = r.deadline < 0 ? std::nullopt : std::optional(r.deadline);
    if (!r.limits.empty() || r.about != About::problem ||
        !question.excluded(first, r.ii, deadline) || !covers(*refutations_[i].problem, r, *asked_))
      continue;
    const bool forever = r.ii >= question.apart(question.deadline(first));
    const Cycle last = forever ? TimeUse::kForever : r.ii;
    if (best && last <= step.last) continue;
    best = i;
    step.last = last;
    step.at = r.ii;
    step.deadline = deadline;
  }
  std::string because;
  if (best) {
    because = this->use(*best) + step_text(step);
  } else {
    // Steps of twice the width as long as they succeed, up to where the bound on every L takes over
    // or iterations do not meet.
    const std::optional<Cycle> end = question.end();
    const Cycle most = end ? *end - 1 : std::max(first, question.apart(question.deadline(first)));
    for (Cycle width = 0;; width = 2 * width + 1) {
      const Cycle at = std::min(first + width, most);
      const std::vector<Bound> bounds = length_bounds(*problem_, at);
      if (bounds.empty() || !question.excluded(first, at, bounds.front().value - 1)) break;
      step.last = at == most && !end ? TimeUse::kForever : at;
      step.at = at;
      step.deadline = bounds.front().value - 1;
      because = bounds.front().name + ": " + bounds.front().text + step_text(step);
      if (at == most) break;
    }
    if (because.empty())
      return unproved("that no schedule with I = " + text(first) + " takes less time");
    bounds_.push_back({.ii = step.at, .value = *step.deadline + 1});
  }
  std::string says = "none is better with I = " + text(first);
  if (step.last == TimeUse::kForever)
    says += " or more";
  else if (step.last > first)
    says = "none is better with I from " + text(first) + " to " + text(step.last);
  say(says, because);
  use.steps.push_back(step);
  return true;
}

bool Derivation::whole_time(Cycle iterations, Cycle time, Cycle ii, Cycle low) {
  WholeTimeQuestion question(*problem_, iterations, asked_->stage_limit);
  question.set_best(time, ii);
  TimeUse use{iterations, time, ii, low, 0, 0, asked_->stage_limit, {}};
  least_time(question, use);
  Cycle next = low;
  while (next != TimeUse::kForever && !(question.end() && next >= *question.end())) {
    if (!time_step(question, next, use)) return false;
    next = use.steps.back().last;
    if (next != TimeUse::kForever) ++next;
  }
  const std::string n = text(iterations) + (iterations == 1 ? " iteration" : " iterations");
  std::string says = "no schedule takes fewer than " + text(time) + " cycles for " + n;
  if (ii > low) says += ", or as many with I < " + text(ii);
  std::string because = "the cycles are (N - 1) I + L";
  if (next != TimeUse::kForever)
    because += "; from I = " + text(next) + " on they are " + text(time) +
               " or more by L >= " + text(use.least);
  say(says, because);
  times_.push_back(std::move(use));
  return true;
}

// The larger interval first: where it is refuted too, lengths play no part.
bool Derivation::none_better(const std::pair<Cycle, Cycle>& than) {
  const auto& [ii, claimed] = than;
  if (claimed > 0) {
    Derivation above = *this;
    if (above.interval(ii + 1)) {
      *this = std::move(above);
      return true;
    }
  }
  return interval(ii) && (claimed <= 0 || length(ii, claimed));
}

bool Derivation::within(const GoalLimits& limits, Cycle ii, Cycle length, const std::string& says) {
  for (std::size_t i = 0; i < refutations_.size(); ++i) {
    const Refutation& r = *refutations_[i].refutation;
    if (r.limits != limits || r.about != About::problem || r.ii != ii || r.deadline < length ||
        !covers(*refutations_[i].problem, r, *asked_))
      continue;
    say(says, use(i));
    return true;
  }
  return unproved(says);
}

// Up to the last I of the range each has a refutation of its own, or a larger one's stands for it.
bool Derivation::none_in_range() {
  const Cycle most = problem_->interval.most;
  const std::string says = "no schedule has I <= " + text(most);
  if (bound().value > most) {
    say_bound();
    return true;
  }
  const Cycle monotone = std::min(most + 1, monotone_from(*problem_).value_or(most + 1));
  for (Cycle ii = bound().value; ii < monotone; ++ii)
    if (!refuted(ii, false)) return false;
  const auto last = refuted(most, true);
  if (monotone <= most && !last) return false;
  say_bound();
  one_by_one(bound().value, monotone);
  if (monotone > most) return true;
  say(says, use(*last) + " of I = " + text(refutations_[*last].refutation->ii) +
                "; feasibility is monotone in I" +
                (monotone > 1 ? " from I = " + text(monotone) + " on" : ""));
  return true;
}

bool Derivation::none() {
  if (asked_->ii) {
    const std::string says = "no schedule has I = " + text(*asked_->ii);
    if (const Cycle most = problem_->interval.most; *asked_->ii > most) {
      say(says, "the problem asks for I <= " + text(most));
      return true;
    }
    if (*asked_->ii < bound().value) {
      say_bound();
      return true;
    }
    const auto monotone = monotone_from(*problem_);
    const auto i = refuted(*asked_->ii, monotone && *monotone <= *asked_->ii);
    if (!i) return unproved(says);
    say(says, use(*i));
    return true;
  }
  if (problem_->interval.most < kMaxInterval && none_in_range()) return true;
  const std::string says = "no schedule exists at any I";
  const Cycle decisive = serial_ii(*problem_), latest = latest_pinned_cycle(*problem_);
  // A channel's bound says nothing of larger intervals.
  Problem rest = *problem_;
  drop_channels(rest);
  rest.interval = {};  // nor does a range
  if (const Bound least = lower_bounds(rest).front(); decisive < least.value) {
    say("no schedule has I < " + text(least.value), least.name + ": " + least.text);
    bounds_.push_back({.ii = std::nullopt, .value = least.value, .channels = false});
    say(says, "if there were one at a larger I, there would be one at I = " + text(decisive) +
                  ", where the ops can run one after the other");
    return true;
  }
  const bool nested = !problem_->inner_loops.empty();
  if (latest > 0 || nested) {  // graph/bounds/serial.cpp, claims 3 and 4
    say_bound();
    if (!one_by_one(bound().value, nested ? decisive : latest + 1)) return false;
  }
  if (const auto i = refuted(decisive, true)) {
    say(says, use(*i) + " of I = " + text(refutations_[*i].refutation->ii) +
                  "; from I = " + text(decisive) +
                  " on the ops can run one after the other, so that every I is alike");
    return true;
  }
  if (latest > 0 || nested) return unproved(says);
  for (std::size_t i = 0; i < refutations_.size(); ++i) {
    const Refutation& r = *refutations_[i].refutation;
    if (!r.limits.empty() || r.about != About::serial || r.deadline >= 0) continue;
    const SerialProblem serial = serial_problem(*refutations_[i].problem);
    if (r.ii != serial.ii || !covers(serial.problem, r, *asked_)) continue;
    say(says, use(i) + " of the serial problem (all positive cycles 1) at I = " + text(serial.ii) +
                  ", where only the order of the ops matters, as it does at every large I");
    return true;
  }
  return unproved(says);
}

}  // namespace twill
