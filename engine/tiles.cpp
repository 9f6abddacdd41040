// The best of many choices of tiles (solve_tiles()).
//
// Choices are visited by their bound on I / work, the best first. Of the first the best schedule is
// found. Each other is asked only whether it has a better one. With I and W the interval and the
// work of the best so far, an interval i of a choice of work w is better if i / w < I / W, that is,
// if i W < I w. So with t = floor(I w / W)
//   where the division is exact, i < t is better, and at i = t a smaller L / work, likewise;
//   else i <= t is better, whatever the length.
// Either is one question (Options::better_than), which is closed by a bound or by refutations: of
// the largest such interval where feasibility is monotone, else of each (engine/solve.cpp). What
// was proved against an earlier best is proved against the last one, which is no worse.
#include <algorithm>
#include <numeric>
#include <utility>

#include "encoders/choose.hpp"
#include "encoders/goals.hpp"
#include "engine/certificate/derivation.hpp"
#include "engine/include/twill.hpp"
#include "engine/limits_left.hpp"
#include "engine/options.hpp"
#include "engine/search.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/io/sha256.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

/// Choices whose evidence keeps what could be made again.
constexpr std::size_t kWholeEvidence = 16;

class TileSearch {
 public:
  TileSearch(std::vector<TileChoice> choices, const Options& options, std::stop_token stop,
             const ProgressCallback& progress, const TileCallback& asked)
      : options_(options), left_(options, std::move(stop)), progress_(progress), asked_(asked) {
    result_.choices = std::move(choices);
    result_.outcomes.resize(result_.choices.size());
  }

  TilesSolution run() {
    for (std::size_t k = 0; k < result_.choices.size(); ++k) bound(k);
    std::vector<std::size_t> order(result_.choices.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (!fits(a) || !fits(b)) return fits(a) && !fits(b);
      const TileOutcome &x = outcome(a), &y = outcome(b);
      const int by_ii = compare_ratios(x.ii_bound, work(a), y.ii_bound, work(b));
      return by_ii != 0
                 ? by_ii < 0
                 : compare_ratios(length_at_bound_[a], work(a), length_at_bound_[b], work(b)) < 0;
    });
    for (const std::size_t k : order) {
      if (!fits(k)) continue;
      close(k);
      if (outcome(k).closed != TileOutcome::open) ++closed_;
    }
    finish();
    return std::move(result_);
  }

 private:
  using Value = std::pair<Cycle, Cycle>;  // I and L

  bool fits(std::size_t k) const { return result_.choices[k].lowered.has_value(); }
  const Problem& problem(std::size_t k) const { return result_.choices[k].lowered->problem; }
  Amount work(std::size_t k) const { return result_.choices[k].work; }
  TileOutcome& outcome(std::size_t k) { return result_.outcomes[k]; }
  static Value value(const Solution& solution) {
    return {solution.schedule->initiation_interval, solution.schedule->length};
  }
  Value best() const { return value(result_.solution()); }

  void bound(std::size_t k) {
    length_at_bound_.push_back(0);
    if (!fits(k)) {
      outcome(k).closed = TileOutcome::misfit;
      ++closed_;
      return;
    }
    const Bound least = lower_bounds(problem(k)).front();
    outcome(k).ii_bound = least.value;
    outcome(k).why = least.name + ": " + least.text;
    length_at_bound_[k] = length_bound(k, least.value);
  }

  Cycle length_bound(std::size_t k, Cycle ii) const {
    const std::vector<Bound> bounds = length_bounds(problem(k), ii);
    return bounds.empty() ? 0 : bounds.front().value;
  }

  /// A schedule of choice k is better than the best if and only if it is better than this (I, L).
  /// L = 0: if its I is smaller.
  Value wanted(std::size_t k) const {
    const auto [ii, length] = best();
    const Wide w = work(k), of = work(*result_.chosen);
    const Wide interval = ii * w / of;
    if (interval >= kMaxInterval) return {kMaxInterval, 0};  // larger ones have none
    if (ii * w % of != 0) return {static_cast<Cycle>(interval) + 1, 0};
    // At the same I / work: L / work is smaller, or the same of an earlier choice.
    const Wide scaled = length * w;
    const Wide most = k < *result_.chosen ? scaled / of + 1 : (scaled + of - 1) / of;
    const auto same = static_cast<Cycle>(interval);
    // If there is a schedule at this I at all, one is as short as that.
    if (most > longest_needed(problem(k), same, stages_of(options_).most)) return {same + 1, 0};
    return {same, static_cast<Cycle>(most)};
  }

  /// The first earlier layout of the same values that can do all that this one can. Not where the
  /// choices are to be certified: each then has a proof of its own.
  const TileChoice* covering(std::size_t k) const {
    if (options_.evidence || !options_.pins.empty() || result_.choices[k].lowered->pool)
      return nullptr;
    for (std::size_t j = k; j-- > 0 && result_.choices[j].values == result_.choices[k].values;)
      if (fits(j) && result_.outcomes[j].closed != TileOutcome::open &&
          covers(problem(j), problem(k)))
        return &result_.choices[j];
    return nullptr;
  }

  void close(std::size_t k) {
    TileOutcome& now = outcome(k);
    Options options = left_.of(options_);
    options.goals.clear();
    options.explain = false;
    if (result_.chosen) {
      if (const TileChoice* const other = covering(k)) {
        now.closed = TileOutcome::covered;
        now.covered_by = other->layout;
        return;
      }
      options.better_than = wanted(k);
      const auto [ii, length] = *options.better_than;
      const bool counted = now.ii_bound > ii ||
                           (now.ii_bound == ii && (length <= 0 || length_bound(k, ii) >= length));
      if (counted) {
        now.closed = TileOutcome::by_bound;
        if (now.ii_bound == ii) now.length_bound = length;
        // A register split is certified by its corners, which the search for one says.
        if (!options_.evidence || !result_.choices[k].lowered->pool) return;
      } else if (left_.spent()) {
        return;
      }
    } else if (left_.spent() && asked_one_) {
      return;
    }
    asked_one_ = true;
    if (asked_) asked_(result_.choices[k], closed_);
    ask(k, options);
  }

  void ask(std::size_t k, const Options& options) {
    TileOutcome& now = outcome(k);
    const bool counted = now.closed == TileOutcome::by_bound;
    Lowered& lowered = *result_.choices[k].lowered;
    if (lowered.pool) {
      SplitSolution split =
          solve_split(lowered.problem, *lowered.pool, options, left_.stop(), progress_);
      now.solution = std::move(split.solution);
      if (now.solution->schedule || options_.evidence) lowered.problem = std::move(split.problem);
    } else {
      now.solution = solve(lowered.problem, options, left_.stop(), progress_);
    }
    Solution& solution = *now.solution;
    left_.took(solution.conflicts);
    if (solution.evidence && asked_with_evidence_++ >= kWholeEvidence) {
      auto kept = std::make_shared<Evidence>(*solution.evidence);
      kept->drop_derived();
      solution.evidence = std::move(kept);
    }
    if (cut_short(solution.stop)) result_.stop = solution.stop;
    if (counted) return;
    if (solution.status == Status::infeasible) {
      now.closed = options.better_than ? TileOutcome::refuted : TileOutcome::none;
      if (options.better_than) std::tie(now.ii_bound, now.length_bound) = *options.better_than;
      return;
    }
    now.ii_bound = std::max(now.ii_bound, solution.ii_lower_bound);
    if (!solution.schedule) return;  // a limit
    if (solution.schedule->initiation_interval == now.ii_bound)
      now.length_bound = solution.length_lower_bound;
    if (result_.chosen) {
      TileOutcome& before = outcome(*result_.chosen);
      before.closed =
          before.solution->status == Status::optimal ? TileOutcome::beaten : TileOutcome::open;
    }
    result_.chosen = k;
    now.closed = TileOutcome::best;
  }

  /// Could a choice that a limit left open be better? Its bounds may say no by now.
  void settle_open() {
    for (std::size_t k = 0; k < result_.choices.size(); ++k) {
      TileOutcome& now = outcome(k);
      if (now.closed != TileOutcome::open || !fits(k)) continue;
      const Value than = wanted(k);
      if (now.ii_bound > than.first ||
          (now.ii_bound == than.first && now.length_bound >= than.second))
        now.closed = now.solution ? TileOutcome::beaten : TileOutcome::by_bound;
    }
  }

  void finish() {
    if (result_.chosen) {
      settle_open();
      Solution& solution = *outcome(*result_.chosen).solution;
      if (!options_.goals.empty())
        pursue_goals(result_.problem(), left_.of(options_), solution, left_.stop());
      record_values(solution, result_.choice().values);
    }
    const auto& all = result_.outcomes;
    const bool open = std::any_of(
        all.begin(), all.end(), [](const TileOutcome& o) { return o.closed == TileOutcome::open; });
    if (result_.chosen)
      result_.status = open ? Status::feasible : result_.solution().status;
    else
      result_.status = open ? Status::unknown : Status::infeasible;
    if (open && !cut_short(result_.stop))
      result_.stop = left_.stop().stop_requested() ? Stop::interrupt
                     : options_.time_limit > 0 && left_.elapsed() >= options_.time_limit
                         ? Stop::time_limit
                         : Stop::conflict_limit;
    result_.seconds = left_.elapsed();
  }

  const Options& options_;
  LimitsLeft left_;
  const ProgressCallback& progress_;
  const TileCallback& asked_;
  std::vector<Cycle> length_at_bound_;
  std::size_t closed_ = 0, asked_with_evidence_ = 0;
  bool asked_one_ = false;  // (The first is asked in any case, so that there is an answer.)
  TilesSolution result_;
};

}  // namespace

int compare_ratios(Cycle a, Amount b, Cycle c, Amount d) {
  const Wide left = Wide{a} * d, right = Wide{c} * b;
  return left < right ? -1 : left > right ? 1 : 0;
}

void record_values(Solution& solution, const ParameterValues& values) {
  for (const auto& [name, value] : values) solution.options.emplace_back("tile " + name, value);
}

TilesSolution solve_tiles(std::vector<TileChoice> choices, const Options& options,
                          std::stop_token stop, const ProgressCallback& progress,
                          const TileCallback& asked) {
  if (choices.empty()) throw InputError("tiles", "/", "none", "must be one choice at least");
  check_options(options);
  refuse_paper(options, parse_encoding(options.encoding).form);
  if (options.ii)
    throw InputError("options", "--ii", std::to_string(*options.ii),
                     "one interval says nothing of tiles with different work: must not be given");
  if (options.better_than)
    throw InputError("options", "better_than", std::to_string(options.better_than->first),
                     "must not be given");
  for (const TileChoice& choice : choices)
    if (choice.lowered) listed_goals(choice.lowered->problem, options.goals);
  return TileSearch(std::move(choices), options, std::move(stop), progress, asked).run();
}

}  // namespace twill
