// What the parts of a search share: the problem, the limits, the running statistics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "encoders/choose.hpp"
#include "encoders/modulo.hpp"
#include "engine/budget.hpp"
#include "engine/cadical.hpp"
#include "engine/include/twill.hpp"

namespace twill {

/// Largest formula so far and the progress callback.
class Reporter {
 public:
  Reporter(const ProgressCallback& callback, Budget& budget)
      : callback_(callback), budget_(budget) {}
  Progress& state() { return state_; }
  void phase(const std::string& name) {
    state_.phase = name;
    tell();
  }
  void formula(const Formula& f) {
    state_.variables = f.variables();
    state_.clauses = f.clauses();
    if (f.clauses() > largest_clauses_) {
      largest_clauses_ = f.clauses();
      largest_variables_ = f.variables();
    }
    tell();
  }
  void tell() {
    state_.seconds = budget_.elapsed();
    state_.conflicts = budget_.conflicts();
    if (callback_) callback_(state_);
  }
  std::int64_t largest_clauses() const { return largest_clauses_; }
  std::int64_t largest_variables() const { return largest_variables_; }

 private:
  const ProgressCallback& callback_;
  Budget& budget_;
  Progress state_;
  std::int64_t largest_clauses_ = 0, largest_variables_ = 0;
};

struct Search {
  const Problem& problem;
  const EncodingChoice& choice;
  std::uint64_t seed;
  Budget& budget;
  Reporter& report;
  bool handover = true;                        ///< Options::handover
  std::vector<std::pair<int, int>> pins = {};  ///< Options::pins, as op and slot

  /// The same search on a related problem (coarser, serial).
  Search on(const Problem& other) const {
    return {other, choice, seed, budget, report, handover, pins};
  }
};

/// One question to the solver: is there a schedule at this I within these stages?
struct Answer {
  SatSolver::Answer verdict = SatSolver::Answer::unknown;
  std::optional<Schedule> schedule;  ///< verified, when sat
};

/// Asks at initiation interval `ii` with starts in [0, ii * stages). Starts from the relaxation
/// without small values and adds detail while verify() refuses its models, so a sat answer is a
/// verified schedule and an unsat answer is exact. `pinned` as in ModuloRequest.
/// `first_detail` = kWithoutLifetimes where a refutation is likely.
Answer ask(const Search& search, Cycle ii, Cycle stages, int pinned,
           std::int64_t conflict_limit = 0, int first_detail = 0);

/// May there be a schedule at any initiation interval (graph/serial.hpp)? False = proved none.
bool any_schedule(const Search& search);

/// Quick attempts at a refutation leave out lifetimes, the largest part of a formula; a refutation
/// of what is left is one of the whole. Levels of detail from here on, see ModuloRequest.
inline constexpr int kWithoutLifetimes = -1;
inline constexpr std::int64_t kQuickConflicts = 2'000;

void set_detail(ModuloRequest& request, int detail);

/// The op whose row may be fixed to 0 by rotating the whole schedule: the longest reservation.
int rotation_pivot(const Problem& problem);

/// The outcome of the search for the smallest I (or of one I).
struct Interval {
  std::optional<Schedule> best;
  Cycle low = 1;      ///< proved: none below
  bool none = false;  ///< proved: no schedule at any I (at the one asked for)
  Cycle max_stages = 0;
};

/// The smallest initiation interval. `low` is a proved bound; `stage_limit` = 0 for all stages.
Interval smallest_interval(const Search& search, Cycle low, Cycle stage_limit);
/// Is there a schedule at `ii`, over all stages or within the limit? Records the stages searched.
Answer ask_complete(const Search& search, Cycle ii, Cycle stage_limit, Cycle& max_stages);
/// Only the initiation interval `ii`.
Interval only_interval(const Search& search, Cycle ii, Cycle stage_limit);

/// The shortest schedule at `ii` with low <= L <= high, `low` proved: sat = found and proved, unsat
/// = none, unknown = stopped (`best` may hold one). `stage_limit` = 0 for none.
struct Shortest {
  SatSolver::Answer verdict = SatSolver::Answer::unknown;
  std::optional<Schedule> best;
  Cycle low = 0;  ///< proved
};
/// `limit` conflicts per question (0 = none); `found` is told every schedule on the way.
Shortest shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high, Cycle stage_limit,
                         std::int64_t limit = 0,
                         const std::function<void(const Schedule&)>& found = {});

/// The smallest length at best.initiation_interval. Improves `best`, raises `low` (proved).
/// Returns true when the two meet. `stage_limit` = 0 for none.
bool smallest_length(const Search& search, Schedule& best, Cycle& low, Cycle stage_limit);

/// Which constraints clash: a minimal set of groups without which the serial problem would have a
/// schedule (see graph/serial.hpp). Call only when it has none.
std::vector<std::string> explain_infeasible(const Search& search, Cycle stage_limit);

/// Algorithm 1 of Soi et al. 2025: its window of lengths at each I, upward from `low`.
Solution search_paper(const Search& search, const Options& options, Cycle low);

/// The straight-line forms, with Algorithm 1's loop over I and L (engine/straight_line_search.cpp).
Solution search_straight_line(const Search& search, const Options& options, Cycle low);

}  // namespace twill
