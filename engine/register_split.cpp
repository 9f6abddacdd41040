// The register split as a decision: an exact search over splits around solve().
//
// Boxes of splits, low <= counts <= high share by share, are cut up by branch and bound. What is
// solved of a box is its upper corner, every slot with the most that any split of the box gives it.
//
// *Why it is exact.* Rule 6 is the only one that sees a slot's registers, and only as an upper
// bound, so what is a schedule with some counts is one with larger counts. Hence (1) the optimum of
// the upper corner is a lower bound on (I, L) for every split of the box, and a box without a
// schedule better than the best known can be dropped. (2) A schedule of the upper corner whose
// slots hold at their fullest moments what some split covers is a schedule with that split, and by
// (1) none of the box is better. (3) Otherwise the box is cut in two along one share, and the
// halves together hold its splits. Both are smaller, counts are multiples of a granule, and a box
// of one split cannot come to (3), so the search ends. The upper corner of a half is pulled in to
// what the others leave of the pool when they have their least.
//
// Shares that look the same (as wide, as many slots, nothing pinned) can be exchanged with all
// their ops, so only splits in which they descend are tried.
//
// *What is kept for a certificate* is every corner that was asked about, with the bound that was
// found for it and the refutations behind that. By (1) to (3) each split is below a corner whose
// bound is no better than the final answer: the corner of the box in which it was dropped or
// settled, or, where the box was dropped for its bound, of the box that was cut into it. Those
// corners are the cover (engine/certificate/split_cover.hpp); the refutations of all serve them.
//
// The idea of relaxing a resource to its largest value and cutting where the relaxed optimum asks
// for too much is branch and bound as by Land and Doig, 1960.
#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "encoders/choose.hpp"
#include "encoders/goals.hpp"
#include "engine/certificate/evidence.hpp"
#include "engine/include/twill.hpp"
#include "engine/limits_left.hpp"
#include "engine/objective.hpp"
#include "engine/options.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

// Corners whose evidence is kept whole. There can be many, but then a search takes so long that
// encoding again what a certificate needs adds little.
constexpr std::size_t kWholeCorners = 4;
// A bound where there is none at all.
constexpr Value kNoSchedule{std::numeric_limits<Cycle>::max(), 0};

struct Box {
  RegisterCounts low, high;
  Value bound{0, 0};  // proved: no split of the box has a better schedule
};

// A corner with what was proved of it: no better schedule.
struct AskedCorner {
  RegisterCounts counts;
  Value bound;
  std::shared_ptr<const Evidence> evidence;
};

void check_pool(const Problem& problem, const RegisterPool& pool) {
  const auto fail = [](const std::string& value, const std::string& rule) {
    throw InputError("register pool", "/shares", value, rule);
  };
  std::vector<int> seen(problem.warps.size(), 0);
  for (const RegisterPool::Share& share : pool.shares) {
    if (share.warpgroups < 1) fail(std::to_string(share.warpgroups), "must have a warpgroup");
    for (const int w : share.slots) {
      if (w < 0 || w >= static_cast<int>(seen.size())) fail(std::to_string(w), "no such slot");
      ++seen[at(w)];
    }
  }
  for (std::size_t w = 0; w < seen.size(); ++w)
    if (seen[w] != 1) fail(problem.warps[w].name, "every slot must be in one share");
  if (pool.granule < 1 || pool.min < 0 || pool.resident < 0)
    fail(std::to_string(pool.granule), "granule >= 1, least and resident registers >= 0");
  if (!is_split(pool, RegisterCounts(pool.shares.size(), least_count(pool))))
    fail(std::to_string(pool.launch), "no split exists: the least counts add up to more");
}

/// Per share the one before it that it can be exchanged with, or -1.
std::vector<int> twins(const Problem& problem, const RegisterPool& pool) {
  const auto same = [&](const RegisterPool::Share& a, const RegisterPool::Share& b) {
    return a.warpgroups == b.warpgroups &&
           std::equal(a.slots.begin(), a.slots.end(), b.slots.begin(), b.slots.end(),
                      [&](int x, int y) {
                        const WarpSlot& first = problem.warps[at(x)];
                        const WarpSlot& second = problem.warps[at(y)];
                        return first.width == second.width &&
                               first.variable_latency == second.variable_latency;
                      });
  };
  std::vector<int> result(pool.shares.size(), -1);
  for (std::size_t s = 0; s < pool.shares.size(); ++s)
    for (std::size_t before = 0; before < s; ++before)
      if (same(pool.shares[before], pool.shares[s])) result[s] = static_cast<int>(before);
  return result;
}

class SplitSearch {
 public:
  SplitSearch(const Problem& problem, const RegisterPool& pool, const Options& options,
              std::stop_token stop, const ProgressCallback& progress)
      : problem_(problem),
        pool_(pool),
        options_(options),
        left_(options, std::move(stop)),
        progress_(progress),
        most_(registers_used(pool, RegisterCounts(pool.shares.size(), pool.launch))),
        twin_(pool.shares.size(), -1) {
    if (problem.pins.empty() && options.pins.empty()) twin_ = twins(problem, pool);
  }

  SplitSolution run() {
    Box root{RegisterCounts(pool_.shares.size(), least_count(pool_)), {}, {0, 0}};
    for (std::size_t s = 0; s < pool_.shares.size(); ++s) root.high.push_back(most_of(pool_, s));
    Solution relaxed = ask(root.high, true);
    least_ii_ = relaxed.ii_lower_bound;
    if (relaxed.status == Status::infeasible) {
      relaxed.evidence = evidence(none());
      record(relaxed);
      return {problem_, {}, std::move(relaxed), asked_};
    }
    Solution last = relaxed;  // what a search that finds nothing reports, but for its status
    settle(std::move(root), std::move(relaxed));
    if (!best_ && !stopped_ && !open_.empty()) try_layout();
    while (!open_.empty() && !stopped_) {
      Box box = std::move(open_.back());
      open_.pop_back();
      if (!better(box.bound)) continue;
      Solution answer = ask(box.high, false);
      settle(std::move(box), std::move(answer));
    }
    return result(std::move(last));
  }

 private:
  Value value_of(const Schedule& schedule) const { return objective_.value(schedule); }
  Value value_of(const std::pair<Cycle, Cycle>& schedule) const {
    return objective_.value(schedule.first, schedule.second);
  }

  /// Is a value better than what is known?
  bool better(const Value& value) const {
    if (best_) return value < value_of(*best_->schedule);
    return !options_.better_than || value < value_of(*options_.better_than);
  }

  /// What is proved where nothing is found: no schedule at all, or none that is better.
  Value none() const {
    return options_.better_than ? value_of(*options_.better_than) : kNoSchedule;
  }

  Solution ask(const RegisterCounts& counts, bool explain) {
    Options options = left_.of(options_);
    drop_goals(options);
    options.explain = explain && options_.explain;
    if (best_ && !options.ii)
      options.better_than = {best_->schedule->initiation_interval, best_->schedule->length};
    ++asked_;
    Solution answer = solve(with_counts(problem_, pool_, counts), options, left_.stop(), progress_);
    conflicts_ += answer.conflicts;
    left_.took(answer.conflicts);
    stopped_ = answer.status == Status::feasible || answer.status == Status::unknown;
    stop_ = answer.stop;
    if (options.evidence) {
      const auto evidence = std::make_shared<Evidence>(*answer.evidence);
      if (corners_.size() >= kWholeCorners) evidence->drop_derived();
      answer.evidence.reset();
      corners_.push_back({counts, proved(answer, options), evidence});
    }
    return answer;
  }

  /// What an answer proves of its problem.
  Value proved(const Solution& answer, const Options& options) const {
    if (answer.status == Status::optimal) return value_of(*answer.schedule);
    if (answer.status == Status::infeasible)
      return options.better_than ? value_of(*options.better_than) : kNoSchedule;
    return objective_.bound(answer);
  }

  /// The cover of all splits that shows that none has a better schedule than `bound`, with all
  /// refutations that can be of use.
  std::shared_ptr<Evidence> evidence(const Value& bound) const {
    if (!options_.evidence) return nullptr;
    auto all = std::make_shared<Evidence>(monotone_from(problem_));
    RegisterSplit split{pool_, counts_, {}};
    for (const AskedCorner& corner : corners_) {
      const auto within = [&](const AskedCorner& other) {
        return other.bound >= bound && other.counts != corner.counts &&
               at_most(corner.counts, other.counts);
      };
      const auto& known = split.corners;
      if (corner.bound >= bound && std::none_of(corners_.begin(), corners_.end(), within) &&
          std::find(known.begin(), known.end(), corner.counts) == known.end())
        split.corners.push_back(corner.counts);
      all->add_known(*corner.evidence);
      for (Refutation refutation : corner.evidence->refutations()) {
        refutation.counts = corner.counts;
        all->keep(std::move(refutation));
      }
    }
    all->set_split(std::move(split));
    return all;
  }

  /// What each share must have for its slots' fullest moments. Slots that hold nothing need the
  /// least: what is resident is said of slots that hold tiles.
  RegisterCounts needed(const Schedule& schedule, std::vector<bool>& holds) const {
    RegisterCounts counts(pool_.shares.size(), least_count(pool_));
    holds.assign(counts.size(), false);
    for (std::size_t s = 0; s < counts.size(); ++s)
      for (const int w : pool_.shares[s].slots) {
        const Amount peak = slot_registers(problem_, schedule, w);
        if (peak == 0) continue;
        holds[s] = true;
        const Amount granules = (peak + pool_.resident + pool_.granule - 1) / pool_.granule;
        counts[s] = std::max(counts[s], granules * pool_.granule);
      }
    return counts;
  }

  /// What the pool still has goes where a compiler will miss it first: to the share that holds
  /// values and has least beyond its need; then to those that hold none.
  void spread(RegisterCounts& counts, const RegisterCounts& need,
              const std::vector<bool>& holds) const {
    for (const bool holder : {true, false})
      for (;;) {
        const Amount used = registers_used(pool_, counts);
        std::size_t next = counts.size();
        for (std::size_t s = 0; s < counts.size(); ++s)
          if (holds[s] == holder && counts[s] + pool_.granule <= pool_.max &&
              used + pool_.granule * pool_.shares[s].warpgroups <= most_ &&
              (next == counts.size() || counts[s] - need[s] < counts[next] - need[next]))
            next = s;
        if (next == counts.size()) break;
        counts[next] += pool_.granule;
      }
  }

  /// Keeps a schedule that some split covers. Returns whether one does; `need` is what it takes.
  bool keep(const Solution& answer, RegisterCounts& need) {
    std::vector<bool> holds;
    need = needed(*answer.schedule, holds);
    if (!is_split(pool_, need)) return false;
    if (!better(value_of(*answer.schedule))) return true;
    best_ = answer;
    counts_ = need;
    spread(counts_, need, holds);
    return true;
  }

  /// Takes the answer to a box's upper corner: done with it, or two halves of it.
  void settle(Box box, Solution answer) {
    if (answer.status == Status::infeasible) return;
    RegisterCounts need;
    const bool covered = answer.schedule && keep(answer, need);
    if (answer.status != Status::optimal) {
      box.bound = std::max(box.bound, objective_.bound(answer));
      open_.push_back(std::move(box));
      return;
    }
    if (covered) return;
    box.bound = value_of(*answer.schedule);
    halve(box, need);
  }

  /// Cuts where the schedule asks for most beyond the least, halfway there. Some share asks for
  /// more than its least, else the box's low corner, a split, would cover the schedule.
  void halve(const Box& box, const RegisterCounts& need) {
    std::size_t cut = 0;
    const auto excess = [&](std::size_t s) {
      return (need[s] - box.low[s]) * pool_.shares[s].warpgroups;
    };
    for (std::size_t s = 1; s < need.size(); ++s)
      if (excess(s) > excess(cut)) cut = s;
    if (need[cut] <= box.low[cut]) throw std::logic_error("a schedule that no split covers fits");
    const Amount half = (need[cut] - box.low[cut]) / (2 * pool_.granule) * pool_.granule;
    Box less = box, more = box;
    less.high[cut] = box.low[cut] + half;
    more.low[cut] = less.high[cut] + pool_.granule;
    if (pull_in(more)) open_.push_back(std::move(more));
    if (pull_in(less)) open_.push_back(std::move(less));
  }

  /// False when no split is left.
  bool pull_in(Box& box) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t s = 0; s < twin_.size(); ++s) {
        if (twin_[s] < 0) continue;
        const std::size_t before = at(twin_[s]);
        box.high[s] = std::min(box.high[s], box.high[before]);
        box.low[before] = std::max(box.low[before], box.low[s]);
      }
      const Amount left = most_ - registers_used(pool_, box.low);
      for (std::size_t s = 0; s < twin_.size(); ++s) {
        const Amount granules = left < 0 ? -1 : left / pool_.shares[s].warpgroups / pool_.granule;
        const Amount high = box.low[s] + granules * pool_.granule;
        if (box.low[s] > std::min(high, box.high[s])) return false;
        changed = changed || high < box.high[s];
        box.high[s] = std::min(box.high[s], high);
      }
    }
    return true;
  }

  /// The machine file's own split, so that a search that is stopped is not worse.
  void try_layout() {
    RegisterCounts counts, need;
    for (const RegisterPool::Share& share : pool_.shares) counts.push_back(share.layout);
    if (!is_split(pool_, counts)) return;
    const Solution answer = ask(counts, false);
    if (answer.schedule) keep(answer, need);
  }

  void record(Solution& solution) const {
    for (auto& option : split_options(problem_, pool_, counts_))
      solution.options.push_back(std::move(option));
  }

  SplitSolution result(Solution last) {
    const bool found = best_.has_value(), timed = objective_.iterations > 0;
    Value bound = found ? value_of(*best_->schedule) : none();
    for (const Box& box : open_) bound = std::min(bound, box.bound);
    stopped_ =
        std::any_of(open_.begin(), open_.end(), [&](const Box& box) { return better(box.bound); });
    if (!stopped_ && cut_short(stop_)) stop_ = Stop::refuted;
    if (!best_) {
      counts_ = RegisterCounts(pool_.shares.size(), least_count(pool_));
      spread(counts_, counts_, std::vector<bool>(counts_.size(), true));
    }
    Solution solution = found ? *best_ : std::move(last);
    SplitSolution split{with_counts(problem_, pool_, counts_), counts_, {}, asked_};
    if (!found) {
      solution.schedule.reset();
      solution.length_lower_bound = 0;
      if (timed) solution.whole_time = WholeTime{objective_.iterations, 0, 0};
      solution.ring_depths.clear();
      solution.status = stopped_ ? Status::unknown : Status::infeasible;
      if (!stopped_) set_reasons(solution, {no_split()});
    } else {
      solution.status = stopped_ ? Status::feasible : Status::optimal;
      const bool same = bound.first == value_of(*solution.schedule).first;
      solution.length_lower_bound = same ? bound.second : 0;
      if (timed && same) solution.length_lower_bound = solution.schedule->length;
    }
    if (timed && (found || stopped_)) solution.whole_time->lower_bound = bound.first;
    if (found || stopped_) solution.ii_lower_bound = options_.ii || timed ? least_ii_ : bound.first;
    const std::shared_ptr<Evidence> kept = evidence(bound);
    solution.evidence = kept;
    finish(split.problem, solution, kept.get());
    split.solution = std::move(solution);
    return split;
  }

  Reason no_split() const {
    if (!options_.better_than)
      return {Reason::split,
              "no register split has a schedule: the slots together need more than their "
              "warpgroups have at launch"};
    return {Reason::better, none_better_text(*options_.better_than)};
  }

  /// Goals are of the problem with the chosen counts.
  void finish(const Problem& chosen, Solution& solution, Evidence* kept) {
    if (solution.schedule)
      if (const auto violation = verify(chosen, *solution.schedule))
        throw std::logic_error("a split does not cover its schedule: " + violation->text);
    std::string text = problem_text(chosen);
    solution.problem_sha256 = sha256(text);
    if (kept != nullptr)
      kept->add_known({chosen, std::move(text), solution.problem_sha256, std::nullopt});
    record(solution);
    solution.seconds = left_.elapsed();
    solution.conflicts = conflicts_;
    set_stop(solution, stop_);
    if (!options_.goals.empty()) pursue_goals(chosen, left_.of(options_), solution, left_.stop());
  }

  const Problem& problem_;
  const RegisterPool& pool_;
  const Options& options_;
  const Objective objective_{options_.iterations};
  LimitsLeft left_;
  const ProgressCallback& progress_;
  Amount most_;
  std::vector<int> twin_;
  std::vector<Box> open_;  // the halves with less on top
  std::optional<Solution> best_;
  RegisterCounts counts_;             // of best_
  std::vector<AskedCorner> corners_;  // where evidence is kept
  Cycle least_ii_ = 0;                // of every split, by the first answer
  int asked_ = 0;
  std::int64_t conflicts_ = 0;
  bool stopped_ = false;
  Stop stop_ = Stop::unsaid;  // of the last question
};

}  // namespace

SplitSolution solve_split(const Problem& problem, const RegisterPool& pool, const Options& options,
                          std::stop_token stop, const ProgressCallback& progress) {
  check_pool(problem, pool);
  if (!options.pins.empty()) {
    const PinnedProblem pinned = pinned_problem(problem, options);
    return solve_split(pinned.problem, pool, pinned.options, std::move(stop), progress);
  }
  if (stages_of(options).kind == StageChoice::paper ||
      parse_encoding(options.encoding).form != Form::modulo)
    throw InputError("options", "--registers", "auto",
                     "needs the complete search, or a number of stages, on the modulo form");
  refuse_length_slack(options, "the register split is chosen");
  goals_of(problem, options);
  return SplitSearch(problem, pool, options, std::move(stop), progress).run();
}

}  // namespace twill
