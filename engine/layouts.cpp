// The best of several layouts, by I and L: each in its order, with what is left of the limits. Once
// there is a schedule, a layout is only asked for a better one, and one whose slots another layout
// covers is not asked at all (graph/covers.hpp).
//
// Where goals may cost cycles of L (Options::length_slack) they decide between layouts, too: each
// is solved for its own I and L, and of those with the smallest I and an L that is near enough to
// the smallest of all, each is asked for its goals. (A layout that covers another can do no worse
// by goals that name no slot; they are few, so all are asked.)
#include <algorithm>
#include <utility>

#include "encoders/choose.hpp"
#include "encoders/goals.hpp"
#include "engine/include/twill.hpp"
#include "engine/limits_left.hpp"
#include "engine/objective.hpp"
#include "engine/options.hpp"

namespace twill {
namespace {

class LayoutSearch {
 public:
  LayoutSearch(std::vector<Lowered> layouts, const Options& options, std::stop_token stop,
               const ProgressCallback& progress, const LayoutCallback& done)
      : options_(options),
        left_(options, std::move(stop)),
        progress_(progress),
        done_(done),
        modulo_(parse_encoding(options.encoding).form == Form::modulo),
        paper_(stages_of(options).kind == StageChoice::paper) {
    result_.layouts = std::move(layouts);
  }

  LayoutsSolution run() {
    const std::size_t count = result_.layouts.size();
    std::vector<std::string> covering;  // before a register split becomes part of its problem
    for (std::size_t k = 0; k < count; ++k) covering.push_back(covering_layout(k));
    for (std::size_t k = 0; k < count; ++k) {
      LayoutOutcome outcome;
      if (!paper_ && !options_.length_slack) outcome.covered_by = std::move(covering[k]);
      // (The first is asked in any case, so that there is an answer.)
      if (outcome.covered_by.empty() && (!solved_ || !left_.spent())) solve_one(k, outcome);
      result_.outcomes.push_back(std::move(outcome));
      choose(k);
      if (done_) done_(result_.layouts[k], result_.outcomes[k]);
    }
    if (count > 1 && !found()) name_clashes();
    if (found() && options_.length_slack)
      compare_goals();
    else if (found() && !options_.goals.empty())
      pursue_goals(result_.layouts[result_.chosen].problem, left_.of(options_), best(),
                   left_.stop());
    result_.status = status();
    if (!found() && result_.status == Status::unknown) report_unsettled();
    for (std::size_t k = 0; k < count; ++k)
      if (auto& solution = result_.outcomes[k].solution)
        record_made_by(*solution, result_.layouts[k]);
    return std::move(result_);
  }

 private:
  bool found() const { return solved_ && result_.outcomes[result_.chosen].solution->schedule; }
  Solution& best() { return *result_.outcomes[result_.chosen].solution; }
  Value value(const Solution& solution) const { return objective_.value(*solution.schedule); }

  // With registers to be chosen: do the layouts differ in nothing but the counts of the machine
  // file?
  static bool same_choice(const Lowered& a, const Lowered& b) {
    RegisterPool pool = *b.pool;
    if (pool.shares.size() != a.pool->shares.size()) return false;
    for (std::size_t s = 0; s < pool.shares.size(); ++s)
      pool.shares[s].layout = a.pool->shares[s].layout;
    return pool == *a.pool && covers(a.problem, b.problem) && covers(b.problem, a.problem);
  }

  // The first other layout that covers layout k; of two that cover each other, the earlier one.
  std::string covering_layout(std::size_t k) const {
    const Lowered& b = result_.layouts[k];
    for (std::size_t j = 0; j < result_.layouts.size(); ++j) {
      const Lowered& a = result_.layouts[j];
      const bool covered = b.pool ? j < k && same_choice(a, b)
                                  : j != k && covers(a.problem, b.problem) &&
                                        (j < k || !covers(b.problem, a.problem));
      if (covered) return a.layout;
    }
    return "";
  }

  void solve_one(std::size_t k, LayoutOutcome& outcome) {
    Lowered& layout = result_.layouts[k];
    Options options = left_.of(options_);
    drop_goals(options);
    options.explain = options_.explain && result_.layouts.size() == 1;  // else when none has any
    if (found() && !options.ii && !paper_ && modulo_ && !options_.length_slack)
      options.better_than = {best().schedule->initiation_interval, best().schedule->length};
    const ProgressCallback named = [&](const Progress& progress) {
      if (!progress_) return;
      Progress of_layout = progress;
      of_layout.layout = layout.layout;
      progress_(of_layout);
    };
    if (layout.pool) {
      SplitSolution split = solve_split(layout.problem, *layout.pool, options, left_.stop(), named);
      outcome.solution = std::move(split.solution);
      layout.problem = std::move(split.problem);
    } else {
      outcome.solution = solve(layout.problem, options, left_.stop(), named);
    }
    outcome.none_better = options.better_than && outcome.solution->status == Status::infeasible;
    left_.took(outcome.solution->conflicts);
  }

  // The best by the objective, of equal ones the first. Once there is a schedule, only the best
  // one's evidence is kept: that of the others is memory that the next search can have.
  void choose(std::size_t k) {
    const std::optional<Solution>& latest = result_.outcomes[k].solution;
    if (!latest) return;
    if (!solved_ || (latest->schedule && (!found() || value(*latest) < value(best()))))
      result_.chosen = k;
    solved_ = true;
    if (!found() || options_.length_slack) return;
    for (LayoutOutcome& outcome : result_.outcomes)
      if (outcome.solution && &*outcome.solution != &best()) outcome.solution->evidence.reset();
  }

  // Of the layouts with the smallest I that come near enough to the smallest L, the one with the
  // smallest goals; of equal ones the first.
  void compare_goals() {
    const auto [ii, length] = value(best());
    const Cycle at_most = length + *options_.length_slack;
    std::optional<std::vector<std::int64_t>> least;
    for (std::size_t k = 0; k < result_.outcomes.size(); ++k) {
      auto& solution = result_.outcomes[k].solution;
      if (!solution || solution->status != Status::optimal || value(*solution).first != ii ||
          value(*solution).second > at_most)
        continue;
      solution->length_slack = LengthSlack{*options_.length_slack, at_most};
      const std::int64_t before = solution->conflicts;
      pursue_goals(result_.layouts[k].problem, left_.of(options_), *solution, left_.stop());
      left_.took(solution->conflicts - before);
      std::vector<std::int64_t> values;
      for (const Goal& goal : solution->goals) {
        values.push_back(goal.value);
        goals_open_ = goals_open_ || goal.lower_bound < goal.value;
      }
      if (least && !(values < *least)) continue;
      least = std::move(values);
      result_.chosen = k;
    }
  }

  // Why each layout has no schedule.
  void name_clashes() {
    if (options_.ii || paper_ || !options_.explain) return;
    for (std::size_t k = 0; k < result_.outcomes.size(); ++k) {
      std::optional<Solution>& solution = result_.outcomes[k].solution;
      if (!solution || solution->status != Status::infeasible || !solution->conflict.empty())
        continue;
      const double begin = left_.elapsed();
      set_reasons(*solution,
                  why_infeasible(result_.layouts[k].problem, left_.of(options_), left_.stop()));
      solution->seconds += left_.elapsed() - begin;
    }
  }

  // Could this layout, had it not been stopped, still have become better than the best?
  bool open(const LayoutOutcome& outcome) {
    if (!outcome.covered_by.empty()) return false;
    if (!outcome.solution) return true;
    const Solution& solution = *outcome.solution;
    if (solution.status == Status::optimal || solution.status == Status::infeasible) return false;
    if (objective_.iterations > 0) return objective_.bound(solution) < value(best());
    if (options_.length_slack) return solution.ii_lower_bound <= value(best()).first;
    const auto [ii, length] = value(best());
    if (solution.ii_lower_bound != ii) return solution.ii_lower_bound < ii;
    return !solution.schedule || solution.length_lower_bound < length;
  }

  Status status() {
    const std::vector<LayoutOutcome>& all = result_.outcomes;
    if (found()) {
      if (best().status != Status::optimal) return best().status;
      if (goals_open_) return Status::feasible;
      return std::any_of(all.begin(), all.end(), [&](const auto& o) { return open(o); })
                 ? Status::feasible
                 : Status::optimal;
    }
    const bool none = std::all_of(all.begin(), all.end(), [](const LayoutOutcome& outcome) {
      return !outcome.covered_by.empty() ||
             (outcome.solution && outcome.solution->status == Status::infeasible);
    });
    return none ? Status::infeasible : Status::unknown;
  }

  void report_unsettled() {
    for (std::size_t k = 0; k < result_.outcomes.size(); ++k)
      if (const auto& solution = result_.outcomes[k].solution;
          solution && solution->status == Status::unknown)
        result_.chosen = k;
  }

  const Options& options_;
  const Objective objective_{options_.iterations};
  LimitsLeft left_;
  const ProgressCallback& progress_;
  const LayoutCallback& done_;
  bool modulo_, paper_;
  bool goals_open_ = false;  // a limit left a goal of some layout open, where they are compared
  bool solved_ = false;      // one of them, so that `chosen` has a solution
  LayoutsSolution result_;
};

}  // namespace

void record_made_by(Solution& solution, const Lowered& lowered) {
  if (!lowered.made_by) return;
  solution.made_by = lowered.made_by;
  solution.made_by->twill = version();
}

LayoutsSolution solve_layouts(std::vector<Lowered> layouts, const Options& options,
                              std::stop_token stop, const ProgressCallback& progress,
                              const LayoutCallback& done) {
  if (layouts.empty()) throw InputError("layouts", "/", "none", "must be one at least");
  check_options(options);
  if (!options.pins.empty()) {
    Options rest = options;
    rest.pins.clear();
    for (Lowered& layout : layouts)
      layout.problem = pinned_problem(layout.problem, options).problem;
    return solve_layouts(std::move(layouts), rest, std::move(stop), progress, done);
  }
  for (const Lowered& layout : layouts) {
    goals_of(layout.problem, options);
    if (layout.pool) refuse_length_slack(options, "the register split is chosen");
  }
  return LayoutSearch(std::move(layouts), options, std::move(stop), progress, done).run();
}

}  // namespace twill
