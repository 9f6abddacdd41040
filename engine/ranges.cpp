// The best worst case. Every number of a lowered problem grows with each cost of its machine, and
// falls with each rate: terms are times * clamp(ceil(measure * factor / rate) - less, ...), an op's
// cycles, occupancy and latency are sums of them, delays and holds are one of these three or a
// number of the kernel, a chunked chain takes sum c + (n - 1) max w and reserves n w of each unit
// from its issue on (fuse_chunks()), a hand-over base + lines * per_line, and a channel is busy for
// traffic / rate, or for as long as a unit of its name is reserved. What is not a number (which ops
// and edges there are, who shows whose buffer) depends on costs in one way alone: an op has cycles,
// or it has none; as cycles grow with costs, what is equal at both ends is equal between them.
//
// So if the problem of the best ends is a relaxation of that of the worst ends
// (graph/relaxation.cpp), so is every problem between, and the schedule found for the worst ends
// keeps all rules there with the same I. No schedule has a smaller worst I, because at the worst
// ends themselves none has: it is the best worst case. A kernel holds the order of such a schedule
// by its waits; I is then the rate of its steady state, which it keeps also where ops end earlier.
//
// The lemma is checked for the loop at hand, and the judge is asked beside it, which knows nothing
// of the lemma: with the nominal costs, the best ones, and each range alone at its best end.
#include "engine/include/twill_ranges.hpp"

#include <algorithm>
#include <utility>

#include "encoders/choose.hpp"
#include "engine/limits_left.hpp"
#include "engine/options.hpp"
#include "graph/relaxation.hpp"

namespace twill {
namespace {

class Weighing {
 public:
  Weighing(std::vector<CostRange> ranges, const LayoutsSolution& worst, const LowerAt& lower_at,
           const Options& options, std::stop_token stop)
      : worst_(worst), lower_at_(lower_at), options_(options), left_(options, std::move(stop)) {
    report_.ranges = std::move(ranges);
    drop_goals(options_);
    options_.evidence = options_.explain = false;
  }

  RangeReport run(bool search) {
    if (worst_.solution().schedule) ask_judge();
    report_.complete = search;
    // (Of one interval, and of the time of some iterations, there is no smallest I to compare.)
    if (options_.ii || options_.iterations > 0) return std::move(report_);
    report_.nominal = ask({RangeEnd::nominal});
    report_.best = ask({RangeEnd::best});
    if (worst_.solution().schedule) weigh();
    return std::move(report_);
  }

 private:
  void ask_judge() {
    const RangeEnds best{RangeEnd::best};
    report_.checks.push_back({{RangeEnd::nominal}, "all nominal", "", false});
    report_.checks.push_back({best, "all at their best ends", "", false});
    for (std::size_t k = 0; k < report_.ranges.size(); ++k)
      report_.checks.push_back(
          {alone(k), report_.ranges[k].place + " alone at its best end", "", false});
    for (RangeCheck& check : report_.checks) {
      const Schedule& schedule = *worst_.solution().schedule;
      std::optional<Problem> problem = at_ends(check.ends, check.broken);
      check.refused = !problem;
      if (problem) {
        // Schedules say L too, which is that of the cycles that ops have here.
        Schedule here = schedule;
        here.length = schedule_length(*problem, schedule.start);
        if (const auto violation = verify(*problem, here))
          check.broken = violation->rule + ": " + violation->text;
      }
    }
    std::string refused;
    const std::optional<Problem> loose = at_ends(best, refused);
    report_.not_proved =
        loose ? no_relaxation(worst_.layout().problem, *loose).value_or("") : refused;
  }

  static RangeEnds alone(std::size_t range) { return {RangeEnd::worst, range, RangeEnd::best}; }

  /// The problem of the schedule's layout, on its slots: their registers may have been chosen.
  std::optional<Problem> at_ends(const RangeEnds& ends, std::string& refused) const {
    try {
      for (Lowered& lowered : lower_at_(ends)) {
        if (lowered.layout != worst_.layout().layout) continue;
        lowered.problem.warps = worst_.layout().problem.warps;
        return std::move(lowered.problem);
      }
      refused = "no layout " + worst_.layout().layout;
    } catch (const InputError& error) {
      refused = error.what();
    }
    return std::nullopt;
  }

  IntervalAt ask(const RangeEnds& ends, std::optional<Cycle> below = std::nullopt) {
    IntervalAt answer;
    std::vector<Lowered> problems;
    try {
      problems = lower_at_(ends);
    } catch (const InputError& error) {
      answer.refused = error.what();
      return answer;
    }
    if (!report_.complete || left_.spent()) {
      report_.complete = false;
      return answer;
    }
    Options options = left_.of(options_);
    if (below) options.better_than = {*below, 1};  // no loop is shorter than a cycle: a smaller I
    const LayoutsSolution found = solve_layouts(std::move(problems), options, left_.stop());
    for (const LayoutOutcome& outcome : found.outcomes)
      if (outcome.solution) left_.took(outcome.solution->conflicts);
    const Solution& solution = found.solution();
    answer.status = found.status;
    if (solution.schedule) answer.interval = solution.schedule->initiation_interval;
    answer.lower_bound = lower_bound(found);
    if (below && found.status == Status::infeasible) {
      answer.status = Status::optimal;
      answer.interval = answer.lower_bound = *below;
    }
    // A search that a limit ended in its length knows the interval all the same.
    if (answer.interval && answer.lower_bound == *answer.interval) answer.status = Status::optimal;
    report_.complete = report_.complete &&
                       (answer.status == Status::optimal || answer.status == Status::infeasible);
    return answer;
  }

  /// Of all layouts: what each that could have a smaller interval has proved.
  static Cycle lower_bound(const LayoutsSolution& found) {
    if (found.status == Status::optimal && found.solution().schedule)
      return found.solution().schedule->initiation_interval;
    std::optional<Cycle> least;
    for (const LayoutOutcome& outcome : found.outcomes) {
      if (!outcome.covered_by.empty()) continue;
      if (!outcome.solution) return 0;
      if (outcome.solution->status == Status::infeasible) continue;
      const Cycle bound = outcome.solution->ii_lower_bound;
      least = std::min(least.value_or(bound), bound);
    }
    return least.value_or(0);
  }

  /// Does a number of the loop depend on the range?
  bool used(std::size_t range, const std::vector<Lowered>& before) const {
    try {
      const std::vector<Lowered> changed = lower_at_(alone(range));
      return !std::equal(changed.begin(), changed.end(), before.begin(), before.end(),
                         [](const Lowered& a, const Lowered& b) { return a.problem == b.problem; });
    } catch (const InputError&) {
      return true;
    }
  }

  void weigh() {
    const Solution& solution = worst_.solution();
    const Cycle interval = solution.schedule->initiation_interval;
    const bool smallest = lower_bound(worst_) == interval;
    // The lemma holds of every layout as of the one chosen, whose ops and edges are the same, and
    // at every number of stages. In the paper's window nothing is monotone.
    const bool monotone = report_.not_proved.empty() &&
                          stages_of(options_).kind != StageChoice::paper &&
                          parse_encoding(options_.encoding).form == Form::modulo;
    // Between a worst and a best interval that are equal all are equal.
    const bool none = monotone && smallest && report_.best->interval == interval &&
                      report_.best->lower_bound == interval;
    const std::vector<Lowered> before = lower_at_({});
    for (std::size_t k = 0; k < report_.ranges.size(); ++k) {
      RangeWeight weight{k, used(k, before), {}};
      if (!weight.used || none)
        weight.at_best = {smallest ? Status::optimal : Status::feasible, interval,
                          lower_bound(worst_), ""};
      else
        weight.at_best =
            ask(alone(k), monotone && smallest ? std::optional(interval) : std::nullopt);
      report_.weights.push_back(std::move(weight));
    }
    std::stable_sort(report_.weights.begin(), report_.weights.end(),
                     [](const RangeWeight& a, const RangeWeight& b) {
                       return a.at_best.interval.value_or(kMaxInterval + 1) <
                              b.at_best.interval.value_or(kMaxInterval + 1);
                     });
  }

  const LayoutsSolution& worst_;
  const LowerAt& lower_at_;
  Options options_;
  LimitsLeft left_;
  RangeReport report_;
};

}  // namespace

bool RangeReport::holds() const {
  return std::all_of(checks.begin(), checks.end(),
                     [](const RangeCheck& check) { return check.refused || check.broken.empty(); });
}

RangeReport weigh_ranges(std::vector<CostRange> ranges, const LayoutsSolution& worst,
                         const LowerAt& lower_at, const Options& options, std::stop_token stop,
                         bool search) {
  return Weighing(std::move(ranges), worst, lower_at, options, std::move(stop)).run(search);
}

bool search_ended(const LayoutsSolution& all) {
  const std::vector<Goal>& goals = all.solution().goals;
  return all.status == Status::infeasible ||
         (all.status == Status::optimal &&
          std::none_of(goals.begin(), goals.end(),
                       [](const Goal& goal) { return goal.lower_bound < goal.value; }));
}

Options limits_after(const Options& options, const LayoutsSolution& worst, double seconds) {
  Options left = options;
  if (left.time_limit > 0) left.time_limit = std::max(1e-6, left.time_limit - seconds);
  if (left.conflict_limit > 0) {
    for (const LayoutOutcome& outcome : worst.outcomes)
      if (outcome.solution) left.conflict_limit -= outcome.solution->conflicts;
    left.conflict_limit = std::max<std::int64_t>(1, left.conflict_limit);
  }
  return left;
}

}  // namespace twill
