// What the parts of a search share: the problem, the limits, the running statistics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "encoders/choose.hpp"
#include "encoders/goals.hpp"
#include "encoders/time_indexed/modulo.hpp"
#include "engine/budget.hpp"
#include "engine/cadical.hpp"
#include "engine/certificate/evidence.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/whole_time.hpp"

namespace twill {

/// Largest formula so far and the progress callback.
class Reporter {
 public:
  Reporter(const ProgressCallback& callback, Budget& budget)
      : callback_(callback), budget_(budget) {}
  Progress& state() { return whole_ != nullptr ? whole_->state() : state_; }
  void phase(const std::string& name) {
    state_.phase = name;
    tell();
  }
  void formula(const Formula& f) {
    if (whole_ != nullptr) return whole_->formula(f);
    state_.variables = f.variables();
    state_.clauses = f.clauses();
    larger(f.clauses(), f.variables());
    tell();
  }
  /// From now on what is told here is told there, where the largest formula so far counts too.
  void join(Reporter& whole) {
    whole_ = &whole;
    whole.larger(largest_clauses_, largest_variables_);
  }
  void tell() {
    if (whole_ != nullptr) return whole_->tell();
    state_.seconds = budget_.elapsed();
    state_.conflicts = budget_.conflicts();
    if (callback_) callback_(state_);
  }
  std::int64_t largest_clauses() const { return largest_clauses_; }
  std::int64_t largest_variables() const { return largest_variables_; }

 private:
  void larger(std::int64_t clauses, std::int64_t variables) {
    if (clauses <= largest_clauses_) return;
    largest_clauses_ = clauses;
    largest_variables_ = variables;
  }

  const ProgressCallback& callback_;
  Budget& budget_;
  Reporter* whole_ = nullptr;
  Progress state_;
  std::int64_t largest_clauses_ = 0, largest_variables_ = 0;
};

class Engine;

/// Proved elsewhere, of a problem that asks for less: no smaller I, and at this I no smaller L.
struct KnownBounds {
  Cycle interval = 0, length = 0;  ///< 0 = nothing
};

/// solve() where bounds are known. They are no evidence: not with Options::evidence.
Solution solve_above(const KnownBounds& known, const Problem& problem, const Options& options,
                     std::stop_token stop, const ProgressCallback& progress = {});

struct Search {
  const Problem& problem;
  const EncodingChoice& choice;
  std::uint64_t seed;
  Budget& budget;
  Reporter& report;
  const Engine& engine;
  /// What every request of the search begins as: Options::handover and pins, limits of goals.
  PlacementRequest placement = {};
  Evidence* evidence = nullptr;  ///< where refutations go; null = nobody asks
  About about = About::problem;  ///< the problem is made from another one so
  GoalLimits goals = {};         ///< what `problem` and `limits` express
  int threads = 1;               ///< that may search at once; 0 = all cores
  Cycle stage_limit = 0;         ///< StageChoice::most; 0 = any number
  KnownBounds known = {};

  /// The same search on a related problem (coarser, serial), whose refutations are not evidence.
  Search on(const Problem& other) const { return with(other, budget, report); }
  /// The same with other limits and statistics.
  Search with(const Problem& other, Budget& own_budget, Reporter& own_report) const {
    Search same{other, choice, seed, own_budget, own_report, engine, placement};
    same.threads = threads;
    same.stage_limit = stage_limit;
    return same;
  }
};

/// The answer to one question: is there a schedule at this I?
struct Answer {
  Verdict verdict = Verdict::unknown;
  std::optional<Schedule> schedule;  ///< verified, when sat
};

/// The outcome of the search for the smallest I (or of one I).
struct Interval {
  std::optional<Schedule> best;
  Cycle low = 1;      ///< proved: none below
  bool none = false;  ///< proved: no schedule at any I (at the one asked for)
  Cycle max_stages = 0;
};

/// The shortest schedule at an I with low <= L <= high, `low` proved: sat = found and proved, unsat
/// = none, unknown = stopped (`best` may hold one).
struct LengthResult {
  Verdict verdict = Verdict::unknown;
  std::optional<Schedule> best;
  Cycle low = 0;  ///< proved
};

/// How questions about the modulo form are answered. Every schedule that an engine returns has been
/// verified; every refutation is repeated. Stateless: one instance serves all.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;

  /// Is there a schedule at `ii`? Raises `max_stages` to the stages searched.
  virtual Answer ask(const Search& search, Cycle ii, Cycle& max_stages) const = 0;
  /// The smallest initiation interval; `low` is a proved bound, and so high that no dependence
  /// cycle gains time at it (lower_bounds() is).
  virtual Interval smallest_interval(const Search& search, Cycle low) const = 0;
  /// The shortest schedule at `ii` with low <= L <= high. `found` is told every schedule on the
  /// way.
  virtual LengthResult shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high,
                                       const std::function<void(const Schedule&)>& found) const = 0;
  /// Quick attempts to shorten `best` before the search proper.
  virtual void shorten(const Search& search, Schedule& best, Cycle low) const = 0;
};

/// Starts, lifetimes and sums per cycle as clauses for CaDiCaL (encoders/time_indexed/modulo.hpp).
const Engine& time_indexed_engine();
/// Rows in difference logic, orders as literals (encoders/order/order.hpp, engine/order/).
const Engine& order_engine();
/// The same with CaDiCaL searching, through its propagator interface (has_cadical_searcher()).
const Engine& order_cadical_engine();
/// The stages of schedules no longer than `deadline`, within the search's.
Cycle stages_within(const Search& search, Cycle ii, Cycle deadline);
/// Where there is a schedule at `ii` within the stages (0: any number), one is at most this long.
Cycle longest_needed(const Problem& problem, Cycle ii, Cycle stage_limit);
/// May there be a schedule at any initiation interval (graph/bounds/serial.hpp)? False = proved
/// none.
bool any_schedule(const Search& search);
/// A schedule of the serial problem; interval.none = there is none, which is final.
std::optional<Schedule> serial_schedule(const Search& search, const SerialProblem& serial,
                                        Interval& interval);
/// The I at which feasibility is not monotone, upward from interval.low (proved on the way) to the
/// decisive one. Precondition: some I has a schedule.
Interval ascend(const Search& search, Interval interval);
/// Keeps the better of two schedules (smaller I) if it is within the stages and verify() accepts
/// it.
bool improve(const Problem& problem, std::optional<Schedule>& best, std::optional<Schedule> next,
             Cycle stage_limit);
/// Is it worth asking the list scheduler, and does nothing but the problem and the stages say what
/// a schedule must be?
bool list_can_answer(const Search& search);
/// A schedule by the list scheduler at an I >= `low`, as small as it finds one: of any number of
/// stages. Precondition: list_can_answer(). `near`: what looks for a smaller I near a short
/// schedule, in loops of more than kManyOps ops.
std::optional<Schedule> by_list(const Search& search, Cycle low,
                                const std::function<void(Schedule&)>& near = {});
/// In loops of more than kManyOps ops shorten_by_list() down to the bound on lengths, with little
/// effort: what is stopped before lengths are asked has at least this. Precondition:
/// list_can_answer().
void shorten_listed(const Search& search, Schedule& best);
/// Replaces `best` by a shorter one of its I that the list scheduler finds near it, none below
/// `low` and none of more stages than the limit; `effort`: ListScheduleOptions. Precondition:
/// list_can_answer().
void shorten_by_list(const Search& search, Schedule& best, Cycle low, std::int64_t effort);
/// Where the memory limit has ended the search for I and there is a limit of time: the list
/// scheduler alone goes on, with other seeds and near the best, for half of the time that is left.
/// Nothing where something else has ended it, or nothing.
void go_on_by_list(const Search& search, Interval& interval);
/// The same for the search for L, in all of the time that is left.
void go_on_shortening(const Search& search, Schedule& best, Cycle low);
/// tighten() (graph/bounds/tighten.hpp) of the search's problem within its stages and limits: at a
/// smaller I the same orders can need more stages, so where the smallest I does, larger ones are
/// tried by bisection.
std::optional<Schedule> tighten_within(const Search& search, const Problem& ordered,
                                       const Schedule& schedule, Cycle low, Cycle high);
/// The shortest schedule within the stages with the orders of `schedule` at its I, or `schedule`
/// itself.
Schedule earliest(const Search& search, const Schedule& schedule);
/// The same within the limits of the search's goals.
Schedule shortened(const Search& search, const Schedule& schedule);

/// The smallest I from interval.low on where ops are pinned to cycles: one by one up to the latest
/// of them, then by growing steps to a schedule and down from it (graph/problem.hpp,
/// monotone_from).
Interval interval_with_pinned_cycles(const Search& search, Interval interval);

/// The smallest I from `low` on, within the problem's range (Problem::interval): none = there is
/// none in it.
Interval interval_in_range(const Search& search, Cycle low);
/// There is a schedule at this I, or at none that is larger: within the problem's range.
Cycle last_to_ask(const Problem& problem, Cycle low);

/// The same with inner loops (rule 12).
Interval interval_with_inner_loops(const Search& search, Interval interval);

/// The op whose row may be fixed to 0 by rotating the whole schedule: the longest reservation; -1
/// where an op is pinned to a cycle or a stage, so that it may not be rotated.
int rotation_pivot(const Problem& problem);

/// Only the initiation interval `ii`.
Interval only_interval(const Search& search, Cycle ii);

/// The smallest length at best.initiation_interval. Improves `best`, raises `low` (proved).
/// Returns true when the two meet.
bool smallest_length(const Search& search, Schedule& best, Cycle& low);

/// What least_whole_time() found.
struct WholeTimeResult {
  std::optional<Schedule> best;  ///< the best; none where nothing is better than what was known
  Cycle lower_bound = 0;         ///< proved, of the time; that of the best, unless it was stopped
};
/// The best schedule at intervals from `first` on, where it is better than what `question` knows.
/// Where smaller intervals have none, that is final.
WholeTimeResult least_whole_time(const Search& search, WholeTimeQuestion& question, Cycle first,
                                 Cycle& max_stages);

/// Formulas of loops of more ops take longer to build than the list scheduler takes.
inline constexpr std::size_t kManyOps = 150;

/// The order engine keeps a dense matrix of ops by ops.
inline constexpr std::size_t kMaxOrderOps = 1'000;

/// Which constraints clash: a minimal set of groups without which the serial problem would have a
/// schedule (see graph/bounds/serial.hpp). Call only when it has none, at any I.
std::vector<Reason> explain_infeasible(const Search& search);

/// Algorithm 1 of Soi et al. 2025: its window of lengths at each I, upward from `low`.
Solution search_paper(const Search& search, const Options& options, Cycle low);

/// The straight-line forms, with Algorithm 1's loop over I and L
/// (engine/paper/straight_line_search.cpp).
Solution search_straight_line(const Search& search, const Options& options, Cycle low);

}  // namespace twill
