// The best of many choices of tiles (solve_tiles()).
//
// Choices are visited by their bound on I / work, the best first, again and again with more effort.
// Until there is a schedule, the best one of a choice is sought. From then on each is asked only
// whether it has a better one. With I and W the interval and the work of the best so far, an
// interval i of a choice of work w is better if i / w < I / W, that is, if i W < I w. So with t =
// floor(I w / W)
//   where the division is exact, i < t is better, and at i = t a smaller L / work, likewise;
//   else i <= t is better, whatever the length.
// Either is one question (Options::better_than), which is closed by a bound or by refutations: of
// the largest such interval where feasibility is monotone, else of each (engine/solve.cpp). What
// was proved against an earlier best is proved against the last one, which is no worse.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "encoders/choose.hpp"
#include "encoders/goals.hpp"
#include "engine/certificate/derivation.hpp"
#include "engine/certificate/evidence.hpp"
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
    // What is easy first: a good choice closes many others, and a hard one can wait for it. Limits
    // on conflicts say what is easy, on one thread, so that they end the same way with any number.
    for (const std::int64_t limit : {200, 2'000, 20'000, 0})
      for (const std::size_t k : order)
        if (!closed(k)) close(k, limit);
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

  /// The best is, once nothing of its own can be better.
  bool closed(std::size_t k) const {
    const TileOutcome& now = result_.outcomes[k];
    if (now.closed == TileOutcome::best) return now.solution->status == Status::optimal;
    return now.closed != TileOutcome::open;
  }
  std::size_t closed_count() const {
    std::size_t count = 0;
    for (std::size_t k = 0; k < result_.outcomes.size(); ++k) count += closed(k) ? 1 : 0;
    return count;
  }

  void bound(std::size_t k) {
    length_at_bound_.push_back(0);
    first_bound_.push_back(0);
    if (!fits(k)) {
      outcome(k).closed = TileOutcome::misfit;
      return;
    }
    const Bound least = lower_bounds(problem(k)).front();
    outcome(k).ii_bound = first_bound_[k] = least.value;
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
    if (options_.evidence || result_.choices[k].lowered->pool) return nullptr;
    for (std::size_t j = k; j-- > 0 && result_.choices[j].values == result_.choices[k].values;)
      if (fits(j) && closed(j) && covers(problem(j), problem(k))) return &result_.choices[j];
    return nullptr;
  }

  void close(std::size_t k, std::int64_t limit) {
    TileOutcome& now = outcome(k);
    Options options = left_.of(options_);
    drop_goals(options);
    options.explain = false;
    if (limit > 0) {
      options.threads = 1;
      if (options.conflict_limit == 0 || options.conflict_limit > limit)
        options.conflict_limit = limit;
    }
    if (!result_.chosen) {
      if (left_.spent() && asked_one_) return;
      ask(k, options);
      return;
    }
    const bool is_best = k == *result_.chosen;
    if (const TileChoice* const other = is_best ? nullptr : covering(k)) {
      now.closed = TileOutcome::covered;
      now.covered_by = other->layout;
      return;
    }
    const Value than = wanted(k);
    options.better_than = than;
    const auto [ii, length] = than;
    const bool counted =
        now.ii_bound > ii || (now.ii_bound == ii && (length <= 0 || length_bound(k, ii) >= length));
    const bool split = result_.choices[k].lowered->pool.has_value();
    if (counted && is_best && !split) {
      prove_best(now.solution->evidence);
    } else if (counted && !is_best) {
      now.closed = TileOutcome::by_bound;
      if (now.ii_bound == ii) now.length_bound = length;
      // What certifies a register split is its corners, which the search for one says.
      if (!options_.evidence || !split) return;
      options.conflict_limit = 0;
      ask(k, options);
    } else if (!left_.spent()) {
      ask(k, options);
    }
  }

  /// Nothing better was found: by bounds alone, or by `evidence`.
  void prove_best(std::shared_ptr<const Evidence> evidence) {
    TileOutcome& now = outcome(*result_.chosen);
    Solution& solution = *now.solution;
    std::tie(now.ii_bound, now.length_bound) = value(solution);
    std::tie(solution.ii_lower_bound, solution.length_lower_bound) = value(solution);
    solution.status = Status::optimal;
    set_stop(solution, Stop::refuted);
    if (evidence && solution.evidence && evidence->split() && solution.evidence->split()) {
      auto own = std::make_shared<Evidence>(*evidence);
      RegisterSplit split = *evidence->split();
      split.counts = solution.evidence->split()->counts;
      own->set_split(std::move(split));
      evidence = std::move(own);
    }
    solution.evidence = std::move(evidence);
  }

  /// The problem as it was lowered: where registers are chosen, choices get their counts.
  Solution solved(std::size_t k, const Options& options) {
    Lowered& lowered = *result_.choices[k].lowered;
    if (!lowered.pool) return solve(lowered.problem, options, left_.stop(), progress_);
    const Problem& whole = whole_.try_emplace(k, lowered.problem).first->second;
    SplitSolution split = solve_split(whole, *lowered.pool, options, left_.stop(), progress_);
    const bool stays = result_.chosen && k == *result_.chosen && !split.solution.schedule;
    if (!stays) lowered.problem = std::move(split.problem);
    return std::move(split.solution);
  }

  void ask(std::size_t k, const Options& options) {
    TileOutcome& now = outcome(k);
    if (asked_) asked_(result_.choices[k], closed_count());
    asked_one_ = true;
    Solution solution = solved(k, options);
    left_.took(solution.conflicts);
    if (solution.evidence && with_evidence_++ >= kWholeEvidence) {
      auto kept = std::make_shared<Evidence>(*solution.evidence);
      kept->drop_derived();
      solution.evidence = std::move(kept);
    }
    // Not a limit on the effort of this turn.
    const bool final = left_.spent() || solution.stop != Stop::conflict_limit;
    if (cut_short(solution.stop) && final) result_.stop = solution.stop;
    if (now.closed == TileOutcome::by_bound) {
      now.solution = std::move(solution);
    } else if (solution.status == Status::infeasible) {
      if (now.closed == TileOutcome::best) return prove_best(solution.evidence);
      now.closed = options.better_than ? TileOutcome::refuted : TileOutcome::none;
      if (options.better_than) std::tie(now.ii_bound, now.length_bound) = *options.better_than;
      now.solution = std::move(solution);
    } else if (solution.schedule) {
      if (result_.chosen) leave_best();
      result_.chosen = k;
      now.closed = TileOutcome::best;
      now.ii_bound = std::max(now.ii_bound, solution.ii_lower_bound);
      if (solution.schedule->initiation_interval == now.ii_bound)
        now.length_bound = solution.length_lower_bound;
      now.solution = std::move(solution);
    } else if (final) {  // a limit of the whole: what is proved is kept, and why
      if (now.closed == TileOutcome::best) return;
      now.ii_bound = std::max(now.ii_bound, solution.ii_lower_bound);
      now.solution = std::move(solution);
    }
  }

  /// Another choice is better.
  void leave_best() {
    TileOutcome& now = outcome(*result_.chosen);
    const bool proved = now.solution->status == Status::optimal;
    now.closed = proved ? TileOutcome::beaten : TileOutcome::open;
    if (proved) return;
    now.ii_bound = first_bound_[*result_.chosen];  // its proof goes with its schedule
    now.length_bound = 0;
    now.solution.reset();
  }

  /// Could a choice that a limit left open be better? Its bounds may say no by now.
  void settle_open() {
    for (std::size_t k = 0; k < result_.choices.size(); ++k) {
      TileOutcome& now = outcome(k);
      if (now.closed != TileOutcome::open) continue;
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
      record_made_by(solution, *result_.choice().lowered);
    }
    const auto& all = result_.outcomes;
    const bool open = std::any_of(
        all.begin(), all.end(), [](const TileOutcome& o) { return o.closed == TileOutcome::open; });
    if (result_.chosen)
      result_.status = open ? Status::feasible : result_.solution().status;
    else
      result_.status = open ? Status::unknown : Status::infeasible;
    if (!open)
      result_.stop = Stop::refuted;
    else if (!cut_short(result_.stop))
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
  std::vector<Cycle> length_at_bound_;  // no shorter at the first bound
  std::vector<Cycle> first_bound_;      // by arithmetic
  std::map<std::size_t, Problem> whole_;
  std::size_t with_evidence_ = 0;
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
  if (options.iterations > 0)
    throw InputError("options", "--iterations", std::to_string(options.iterations),
                     "tiles are compared by I / work: must not be given");
  refuse_length_slack(options, "tiles are chosen");
  if (options.better_than)
    throw InputError("options", "better_than", std::to_string(options.better_than->first),
                     "must not be given");
  if (!options.pins.empty() && options.evidence)
    throw InputError("options", "--pin", options.pins.front().first,
                     "a certificate of tiles lowers the kernel again: pins must be in its file");
  if (!options.pins.empty()) {
    Options rest = options;
    rest.pins.clear();
    for (TileChoice& choice : choices)
      if (choice.lowered)
        choice.lowered->problem = pinned_problem(choice.lowered->problem, options).problem;
    return solve_tiles(std::move(choices), rest, std::move(stop), progress, asked);
  }
  for (const TileChoice& choice : choices)
    if (choice.lowered) goals_of(choice.lowered->problem, options);
  return TileSearch(std::move(choices), options, std::move(stop), progress, asked).run();
}

}  // namespace twill
