#include "engine/explain_interval.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "engine/clash_words.hpp"
#include "engine/search.hpp"
#include "graph/bounds.hpp"

namespace twill {
namespace {

using Change = std::function<void(Problem&)>;

constexpr std::int64_t kClashConflicts = 200'000;  // for the clash, after the proof

struct SingleChange {
  std::string text;
  Change apply;
};

// Single changes that a user could buy.
std::vector<SingleChange> single_changes(const Problem& p) {
  std::vector<SingleChange> all;
  for (std::size_t w = 0; w < p.warps.size(); ++w) {
    const WarpSlot& slot = p.warps[w];
    if (slot.variable_latency) continue;
    const bool again =
        std::any_of(p.warps.begin(), p.warps.begin() + static_cast<std::ptrdiff_t>(w),
                    [&](const WarpSlot& other) {
                      return other.width == slot.width && !other.variable_latency &&
                             other.registers == slot.registers;
                    });
    if (!again)
      all.push_back({"one more slot like " + slot.name, [slot](Problem& q) {
                       q.warps.push_back(slot);
                       q.warps.back().name += " (more)";
                     }});
  }
  for (std::size_t w = 0; w < p.warps.size(); ++w)
    if (p.warps[w].registers > 0)
      all.push_back({"16 more registers on " + p.warps[w].name,
                     [w](Problem& q) { q.warps[w].registers += 16; }});
  if (std::any_of(p.ops.begin(), p.ops.end(), [](const Op& op) { return op.spill > 0; }))
    all.push_back({"half of every spill", [](Problem& q) {
                     for (Op& op : q.ops) op.spill /= 2;
                   }});
  for (std::size_t f = 0; f < p.units.size(); ++f)
    all.push_back(
        {"one more instance of " + p.units[f].name, [f](Problem& q) { ++q.units[f].capacity; }});
  for (std::size_t m = 0; m < p.memories.size(); ++m)
    all.push_back({"twice the memory " + p.memories[m].name,
                   [m](Problem& q) { q.memories[m].capacity *= 2; }});
  return all;
}

class Explainer {
 public:
  Explainer(Cycle ii, const Options& options, const std::stop_token& stop, std::int64_t conflicts)
      : ii_(ii), options_(options), stop_(stop), conflicts_(conflicts) {}

  // Is there a schedule at the interval? Lengths are of no interest.
  Verdict ask(const Problem& problem) {
    const double left = seconds_left();
    if (stop_.stop_requested() || (options_.time_limit > 0 && left <= 0)) return Verdict::unknown;
    Options question = options_;
    if (options_.time_limit > 0) question.time_limit = left;
    if (conflicts_ > 0)
      question.conflict_limit =
          options_.conflict_limit > 0 ? std::min(conflicts_, options_.conflict_limit) : conflicts_;
    const Decided answer = decide_interval(problem, ii_, question, stop_);
    spent_ += answer.seconds;
    return answer.verdict;
  }

  // Of the time limit; 0 = there is none, less = none are left.
  double seconds_left() const {
    const double left = options_.time_limit - spent_;
    return options_.time_limit > 0 && left == 0 ? -1 : options_.time_limit > 0 ? left : 0;
  }

 private:
  Cycle ii_;
  Options options_;
  std::stop_token stop_;
  std::int64_t conflicts_;
  double spent_ = 0;
};

// Of the arithmetic bounds above the interval the largest.
std::optional<Bound> refuting_bound(const Problem& problem, Cycle ii) {
  const Bound bound = lower_bounds(problem).front();
  if (bound.value > ii) return bound;
  return std::nullopt;
}

// The clash by the order form, with everything in it where that is not refuted in time.
void find_clash(const Problem& problem, const Options& options, const std::stop_token& stop,
                std::int64_t question_conflicts, double seconds, IntervalExplanation& e) {
  Budget budget(stop, seconds, options.conflict_limit, options.memory_limit);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  const EncodingChoice choice = parse_encoding(options.encoding);
  const Search search{problem, choice,         options.seed,    budget,
                      report,  order_engine(), options.handover};
  std::vector<order::Clashing> clash;
  if (problem.ops.size() <= kMaxOrderOps)
    clash = order::smallest_clash(search, e.ii, stage_limit(options.stages), kClashConflicts,
                                  question_conflicts);
  ClashWords lines = clash.empty() ? everything(problem) : words(problem, clash);
  e.minimal = !clash.empty() && std::all_of(clash.begin(), clash.end(), [](const auto& c) {
                return c.without.has_value();
              });
  e.clash = std::move(lines.clash);
  e.forced_by = std::move(lines.forced_by);
}

}  // namespace

IntervalExplanation explain_interval(const Problem& given, Cycle ii, const Options& given_options,
                                     const std::stop_token& stop, std::int64_t question_conflicts) {
  check(given);
  Problem problem = given;
  Options options = given_options;
  for (const auto& [op, slot] : resolved_pins(given, options))
    problem.pins.push_back({Pin::on_slot, op, slot, -1, -1});
  options.pins.clear();
  check(problem);
  if (options.stages == "paper")
    throw InputError("options", "--stages", options.stages, "must be complete or a number here");
  IntervalExplanation explanation;
  explanation.ii = ii;
  Explainer first(ii, options, stop, 0);
  if (const auto bound = refuting_bound(problem, ii)) {
    explanation.verdict = Verdict::unsat;
    explanation.clash = {bound->name + " " + bound->text};
  } else {
    explanation.verdict = first.ask(problem);
    if (explanation.verdict != Verdict::unsat) return explanation;
    find_clash(problem, options, stop, question_conflicts, first.seconds_left(), explanation);
  }
  Explainer quick(ii, options, stop, question_conflicts);
  for (const SingleChange& change : single_changes(problem)) {
    Problem changed = problem;
    change.apply(changed);
    explanation.relaxations.push_back({change.text, quick.ask(changed)});
  }
  return explanation;
}

}  // namespace twill
