#include "engine/include/twill_explain.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "engine/decide.hpp"
#include "engine/explain/clash_words.hpp"
#include "engine/limits_left.hpp"
#include "engine/options.hpp"
#include "engine/search.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/unroll.hpp"

namespace twill {
namespace {

using Change = std::function<void(Problem&)>;

constexpr std::int64_t kClashConflicts = 200'000;  // for the clash, after the proof
constexpr std::int64_t kTwiceConflicts = 2'000;    // for two iterations in one: a larger question

struct SingleChange {
  std::string text;
  Change apply;
};

// Twice as much a cycle; nullopt where a file could not say it.
std::optional<Fraction> twice(Fraction rate) {
  if (rate.denominator % 2 == 0) return Fraction{rate.numerator, rate.denominator / 2};
  if (rate.numerator > kMaxAmount / 2) return std::nullopt;
  return Fraction{rate.numerator * 2, rate.denominator};
}

// Single changes that a user could buy, of what the loop makes use of.
std::vector<SingleChange> single_changes(const Problem& p, Cycle ii) {
  std::vector<SingleChange> all;
  const auto holds_registers = [&](int w) {
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
      if (p.ops[at(v)].registers > 0 && slot_fits(p, v, w)) return true;
    return false;
  };
  // Slots that differ in name only change together.
  std::vector<char> listed(p.warps.size(), 0);
  std::vector<SingleChange> registers;
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w) {
    const WarpSlot slot = p.warps[at(w)];
    if (listed[at(w)]) continue;
    std::vector<std::size_t> alike;
    std::string names;
    for (std::size_t other = at(w); other < p.warps.size(); ++other) {
      if (p.warps[other].width != slot.width || p.warps[other].registers != slot.registers ||
          p.warps[other].variable_latency != slot.variable_latency)
        continue;
      listed[other] = 1;
      names += (alike.empty() ? "" : ", ") + p.warps[other].name;
      alike.push_back(other);
    }
    if (!slot.variable_latency)
      all.push_back({"one more slot like " + slot.name, [slot](Problem& q) {
                       q.warps.push_back(slot);
                       q.warps.back().name += " (more)";
                     }});
    if (holds_registers(w))
      registers.push_back(
          {"16 more registers on " + std::string(alike.size() > 1 ? "each of " : "") + names,
           [alike](Problem& q) {
             for (const std::size_t one : alike) q.warps[one].registers += 16;
           }});
  }
  all.insert(all.end(), registers.begin(), registers.end());
  if (std::any_of(p.edges.begin(), p.edges.end(),
                  [&](const Edge& e) { return spill_of(p, e) > 0; }))
    all.push_back({"half of every spill", [](Problem& q) {
                     for (Op& op : q.ops) op.spill /= 2;
                     for (Edge& e : q.edges)
                       if (e.spill) e.spill = *e.spill / 2;
                   }});
  for (int f = 0; f < static_cast<int>(p.units.size()); ++f)
    if (std::any_of(p.ops.begin(), p.ops.end(), [&](const Op& op) {
          return std::any_of(op.reservations.begin(), op.reservations.end(),
                             [&](const Reservation& r) { return r.unit == f; });
        }))
      all.push_back({"one more instance of " + p.units[at(f)].name,
                     [f](Problem& q) { ++q.units[at(f)].capacity; }});
  for (int m = 0; m < static_cast<int>(p.memories.size()); ++m)
    if (std::any_of(p.ops.begin(), p.ops.end(), [&](const Op& op) {
          return std::any_of(op.footprints.begin(), op.footprints.end(),
                             [&](const Footprint& f) { return f.memory == m; });
        }))
      all.push_back({"twice the memory " + p.memories[at(m)].name,
                     [m](Problem& q) { q.memories[at(m)].capacity *= 2; }});
  // Of one interval alone: rates, and how long a latency is, refute none of the larger ones.
  if (ii == 0) return all;
  for (const ChannelUse& use : channel_uses(p))
    if (const auto rate = twice(p.channels[at(use.channel)].rate); rate && use.least > ii)
      all.push_back(
          {"twice the rate of channel " + p.channels[at(use.channel)].name,
           [c = use.channel, rate = *rate](Problem& q) { q.channels[at(c)].rate = rate; }});
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
    if (p.ops[at(v)].in_flight && std::any_of(p.edges.begin(), p.edges.end(), [&](const Edge& e) {
          return e.from == v && e.delay > 0;
        }))
      all.push_back({"half the latency of load " + p.ops[at(v)].id, [v](Problem& q) {
                       for (Edge& e : q.edges)
                         if (e.from == v) e.delay /= 2;
                     }});
  return all;
}

// Two iterations in one, which may take turns on slots; nullopt where there is no such question.
// (Of what is kept as evidence each is about the loop as it is.)
std::optional<Problem> two_in_one(const Problem& p, Cycle ii, const Options& options) {
  if (ii == 0 || 2 * ii > kMaxInterval || options.evidence || p.warps.size() < 2 ||
      2 * p.ops.size() > kMaxOrderOps)
    return std::nullopt;
  try {
    return unrolled(p, 2);
  } catch (const InputError&) {  // pins to cycles, inner loops, limits
    return std::nullopt;
  }
}

// Of the arithmetic bounds above the interval the largest. That of pinned cycles does not name
// them, as a clash does.
std::optional<Bound> refuting_bound(const Problem& problem, Cycle ii) {
  for (Bound& bound : lower_bounds(problem))
    if (bound.name != "pins" && ii > 0 && bound.value > ii) return std::move(bound);
  return std::nullopt;
}

// Asks whether problems have a schedule at the interval (0: at any).
class Explainer {
 public:
  Explainer(Cycle ii, const Options& options, const std::stop_token& stop)
      : ii_(ii), options_(options), left_(options, stop) {
    drop_goals(options_);
    options_.explain = false;
  }

  /// With at most `conflicts`, 0 = what is left of the limit. Lengths are of no interest, but where
  /// evidence is kept the smallest comes with it, as far as the limits allow.
  Tried ask(const Problem& problem, std::int64_t conflicts) {
    return ask_at(ii_, problem, conflicts);
  }

  /// The same at another interval.
  Tried ask_at(Cycle ii, const Problem& problem, std::int64_t conflicts) {
    Tried tried;
    if (left_.spent()) return tried;
    Options question = left_.of(options_);
    if (conflicts > 0)
      question.conflict_limit =
          question.conflict_limit > 0 ? std::min(conflicts, question.conflict_limit) : conflicts;
    // Where arithmetic refutes the interval, a formula would take long to.
    const bool by_bounds = refuting_bound(problem, ii).has_value();
    if (by_bounds && !question.evidence) {
      tried.verdict = Verdict::unsat;
      return tried;
    }
    if (ii > 0 && !question.evidence) {
      const Decided answer = decide_interval(problem, ii, question, left_.stop());
      left_.took(answer.conflicts);
      tried.verdict = answer.verdict;
      return tried;
    }
    if (ii > 0 && !by_bounds) question.ii = ii;
    tried.problem = problem;
    tried.solution = solve(problem, question, left_.stop());
    left_.took(tried.solution.conflicts);
    if (by_bounds || tried.solution.status == Status::infeasible)
      tried.verdict = Verdict::unsat;
    else if (tried.solution.schedule)
      tried.verdict = Verdict::sat;
    return tried;
  }

  /// The options with what is left of the limits.
  Options rest() const { return left_.of(options_); }

 private:
  Cycle ii_;
  Options options_;
  LimitsLeft left_;
};

// The clash by the order form, with everything in it where that is not refuted in time.
void find_clash(const Problem& problem, const Options& options, const std::stop_token& stop,
                std::int64_t question_conflicts, IntervalExplanation& e) {
  Budget budget(stop, options.time_limit, options.conflict_limit, options.memory_limit);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  const EncodingChoice choice = parse_encoding(options.encoding);
  Search search{problem, choice, options.seed, budget, report, order_engine(), {options.handover}};
  search.stage_limit = stages_of(options).most;
  std::vector<order::Clashing> clash;
  if (problem.ops.size() <= kMaxOrderOps)
    clash = order::minimal_clash(search, e.ii, kClashConflicts, question_conflicts);
  e.reasons = clash.empty() ? everything(problem) : words(problem, clash);
  e.minimal = !clash.empty() && std::all_of(clash.begin(), clash.end(),
                                            [](const auto& c) { return c.without.has_value(); });
}

}  // namespace

std::vector<std::string> IntervalExplanation::texts(bool forces) const {
  std::vector<std::string> texts;
  for (const Reason& reason : reasons)
    if (reason.forces() == forces) texts.push_back(reason.text);
  return texts;
}

std::optional<Cycle> interval_to_explain(const Solution& solution) {
  if (solution.status == Status::infeasible) return 0;
  if (!solution.schedule || solution.ii_lower_bound != solution.schedule->initiation_interval ||
      solution.ii_lower_bound == 1)
    return std::nullopt;
  return solution.schedule->initiation_interval - 1;
}

IntervalExplanation explain_interval(const Problem& given, Cycle ii, const Options& given_options,
                                     const std::stop_token& stop, std::int64_t question_conflicts) {
  check(given);
  const auto [problem, options] = pinned_problem(given, given_options);
  refuse_paper(options, Form::modulo);
  IntervalExplanation explanation;
  explanation.ii = ii;
  Explainer explainer(ii, options, stop);
  explanation.question = explainer.ask(problem, 0);
  if (explanation.verdict() != Verdict::unsat) return explanation;
  const Options rest = explainer.rest();
  if (const auto bound = refuting_bound(problem, ii)) {
    explanation.reasons = {{Reason::bound, bound->name + " " + bound->text}};
  } else if (ii == 0) {
    explanation.reasons = why_infeasible(problem, rest, stop);
    explanation.minimal = !explanation.reasons.empty();
    if (!explanation.minimal) {
      explanation.reasons = everything(problem);
      std::erase_if(explanation.reasons, [](const Reason& reason) { return reason.forces(); });
    }
  } else {
    find_clash(problem, rest, stop, question_conflicts, explanation);
  }
  for (const SingleChange& change : single_changes(problem, ii)) {
    Problem changed = problem;
    change.apply(changed);
    explanation.relaxations.push_back({change.text, explainer.ask(changed, question_conflicts)});
  }
  if (const auto twice = two_in_one(problem, ii, options))
    explanation.relaxations.push_back(
        {"two iterations in one (--unroll 2)",
         explainer.ask_at(2 * ii, *twice, std::min(question_conflicts, kTwiceConflicts))});
  return explanation;
}

}  // namespace twill
