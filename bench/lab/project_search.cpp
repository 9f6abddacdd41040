#include "bench/lab/project_search.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "encoders/order/difference.hpp"
#include "engine/budget.hpp"
#include "engine/cadical.hpp"
#include "engine/order/cdcl.hpp"
#include "engine/order/time_table.hpp"
#include "graph/index.hpp"
#include "graph/log.hpp"
#include "graph/schedule.hpp"
#include "graph/verify.hpp"

namespace twill::bench {
namespace {

constexpr Cycle kMostStarts = 400'000;  // of all activities together
constexpr std::int64_t kFirstConflicts = 200;
constexpr std::int64_t kBottomShare = 8;  // of the conflicts for the best, for the bound
constexpr Cdcl::Pace kPace{250, 1'000};

struct Arc {
  int from, to;
  Cycle cycles;  // between their starts, at least
};

std::vector<Arc> arcs_of(const Project& project) {
  std::vector<Arc> arcs;
  for (const Edge& e : project.problem.edges) arcs.push_back({e.from, e.to, e.delay});
  for (const Lag& lag : project.lags) arcs.push_back({lag.from, lag.to, lag.cycles});
  return arcs;
}

/// Earliest starts, and the longest way from each start to the end; nullopt = a circle of lags
/// gains time.
struct Ways {
  std::vector<Cycle> head, tail;
};
std::optional<Ways> ways_of(const Problem& p, const std::vector<Arc>& arcs) {
  Ways ways{std::vector<Cycle>(p.ops.size(), 0), {}};
  for (const Op& op : p.ops) ways.tail.push_back(op.cycles);
  for (std::size_t round = 0; round <= p.ops.size(); ++round) {
    bool changed = false;
    for (const Arc& a : arcs) {
      Cycle& head = ways.head[at(a.to)];
      Cycle& tail = ways.tail[at(a.from)];
      if (ways.head[at(a.from)] + a.cycles > head) {
        head = ways.head[at(a.from)] + a.cycles;
        changed = true;
      }
      if (ways.tail[at(a.to)] + a.cycles > tail) {
        tail = ways.tail[at(a.to)] + a.cycles;
        changed = true;
      }
    }
    if (!changed) return ways;
  }
  return std::nullopt;
}

/// Is one cycle of a unit too much for what executes in it, wherever it starts, if none of the
/// literals is true? With code of its own, from the starts that the literals leave.
bool holds_by_capacity(const Problem& p, const std::vector<order::StartLiterals>& starts,
                       std::span<const int> lemma) {
  std::vector<Cycle> least, most;
  for (const order::StartLiterals& s : starts) {
    least.push_back(s.earliest);
    most.push_back(s.latest);
    for (const int literal : lemma) {
      const Cycle nth = (literal < 0 ? -literal : literal) - s.first;
      if (nth < 0 || nth >= s.latest - s.earliest) continue;
      const Cycle t = s.earliest + 1 + nth;  // "at t or later"
      if (literal < 0) least.back() = std::max(least.back(), t);
      if (literal > 0) most.back() = std::min(most.back(), t - 1);
    }
    if (least.back() > most.back()) return true;  // the literals exclude each other
  }
  for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
    std::map<Cycle, Amount> changes;
    for (std::size_t v = 0; v < starts.size(); ++v)
      for (const Reservation& r : p.ops[v].reservations) {
        if (at(r.unit) != unit || most[v] >= least[v] + r.length) continue;
        changes[most[v] + r.offset] += r.amount;
        changes[least[v] + r.offset + r.length] -= r.amount;
      }
    Amount sum = 0;
    for (const auto& [cycle, change] : changes) {
      sum += change;
      if (sum > p.units[unit].capacity) return true;
    }
  }
  return false;
}

class ProjectSearch {
 public:
  ProjectSearch(const Project& project, const Options& options, const std::stop_token& stop,
                Cycle longest, bool confirm, Makespan& found)
      : confirm_(confirm),
        project_(project),
        arcs_(arcs_of(project)),
        found_(found),
        budget_(stop, options.time_limit, options.conflict_limit, options.memory_limit),
        solver_(budget_, options.seed, kPace),
        formula_(solver_),
        differences_(formula_, 0, 1, 1),
        top_(found.high > 0 ? found.high - 1 : longest),
        bottom_(found.low) {}

  void run() {
    if (found_.low > top_) return;
    budget_.complete([&] {
      if (!build()) {  // by longest ways alone
        refuted();
        may_tell_ = true;
        return;
      }
      TWILL_LOG("makespan ", found_.low, " to ", found_.high, ": ", formula_.variables(),
                " variables, ", formula_.clauses(), " clauses");
      ask_all();
      may_tell_ = !confirm_ || confirmed();
    });
    if (confirm_ && !may_tell_) {
      found_.low = bottom_;
      found_.none = false;
    }
    found_.conflicts += budget_.conflicts();
  }

 private:
  int next_variable() const { return static_cast<int>(formula_.variables()) + 1; }
  /// A clause of literals that may be constants.
  void clause(std::initializer_list<int> literals) {
    std::vector<int> kept;
    for (const int l : literals) {
      if (l == order::StartLiterals::kTrue) return;
      if (l != order::StartLiterals::kFalse) kept.push_back(l);
    }
    solver_.add_clause(kept);
  }
  /// "The makespan is more than this."
  int longer(Cycle makespan) const {
    if (makespan < bottom_) return order::StartLiterals::kTrue;
    if (makespan >= top_) return order::StartLiterals::kFalse;
    return first_longer_ + static_cast<int>(makespan - bottom_);
  }

  bool build() {
    const Problem& p = project_.problem;
    const auto ways = ways_of(p, arcs_);
    if (!ways) return false;
    for (std::size_t v = 0; v < p.ops.size(); ++v) {
      const Cycle earliest = ways->head[v], latest = top_ - ways->tail[v];
      if (latest < earliest) return false;
      order::StartLiterals starts{earliest, latest, next_variable()};
      for (Cycle t = earliest + 1; t <= latest; ++t) {
        formula_.fresh();
        if (t > earliest + 1) clause({-starts.at_least(t), starts.at_least(t - 1)});
      }
      starts_.push_back(starts);
    }
    first_longer_ = next_variable();
    for (Cycle makespan = bottom_; makespan < top_; ++makespan) {
      formula_.fresh();
      if (makespan > bottom_) clause({-longer(makespan), longer(makespan - 1)});
    }
    for (const Arc& a : arcs_) {
      const order::StartLiterals &from = starts_[at(a.from)], &to = starts_[at(a.to)];
      for (Cycle t = from.earliest; t <= from.latest; ++t)
        clause({-from.at_least(t), to.at_least(t + a.cycles)});
    }
    for (std::size_t v = 0; v < p.ops.size(); ++v)
      for (Cycle makespan = bottom_; makespan < top_; ++makespan)
        clause({-starts_[v].at_least(makespan - ways->tail[v] + 1), longer(makespan)});
    solver_.take(differences_);
    time_table_.emplace(p, starts_, confirm_);
    solver_.keep_within(*time_table_);
    return true;
  }

  void refuted() {
    if (found_.high > 0)
      found_.low = found_.high;
    else
      found_.none = true;
  }

  /// Of the model. A schedule that breaks a rule would be a fault of the search.
  void take_model() {
    const Problem& p = project_.problem;
    Schedule schedule;
    for (const order::StartLiterals& s : starts_) {
      Cycle t = s.earliest;
      while (t < s.latest && solver_.value(Lit::of(s.at_least(t + 1)))) ++t;
      schedule.start.push_back(t);
      schedule.warp.push_back(0);
    }
    schedule.length = schedule_length(p, schedule.start);
    const Cycle makespan = std::max<Cycle>(1, schedule.length);
    schedule.initiation_interval = makespan;
    if (const auto violation = verify(at_makespan(project_, makespan), schedule))
      throw std::logic_error("the search for makespans has a model that verify() refuses: " +
                             violation->text);
    found_.high = makespan;
  }

  void ask_all() {
    std::int64_t limit = kFirstConflicts;
    bool bottom = true;
    while (found_.low < found_.high || found_.high == 0) {
      const Cycle asked = bottom ? found_.low : top();
      const bool all = asked >= top();
      if (!all) solver_.assume(-longer(asked));
      const Verdict verdict =
          solver_.solve(bottom ? std::max(kFirstConflicts, limit / kBottomShare) : limit);
      if (verdict == Verdict::sat) {
        take_model();
        if (found_.low < found_.high && found_.high - 1 < top_) clause({-longer(found_.high - 1)});
        continue;
      }
      if (verdict == Verdict::unsat) return refuted();
      if (budget_.spent()) return;
      if (!all && solver_.value(Lit::of(longer(asked)))) {
        while (found_.low < top() && solver_.value(Lit::of(longer(found_.low)))) ++found_.low;
        continue;
      }
      if (!bottom) limit *= 2;
      bottom = !bottom;
    }
  }
  /// What is proved, again: each lemma by itself, and CaDiCaL refutes a makespan below. Throws
  /// std::logic_error where one of them does not; false = a limit came first.
  bool confirmed() {
    if (!found_.none && found_.low == bottom_) return true;
    const MemoryCnf &clauses = solver_.clauses(), &lemmas = solver_.lemmas();
    SatSolver cadical(budget_, 0);
    for (int v = 0; v < clauses.variables(); ++v) cadical.new_variable();
    for (std::size_t i = 0; i < clauses.clauses(); ++i) cadical.add_clause(clauses.clause(i));
    for (std::size_t i = 0; i < lemmas.clauses(); ++i) {
      if (!holds_by_capacity(project_.problem, starts_, lemmas.clause(i)))
        throw std::logic_error("a lemma of the search for makespans does not hold");
      cadical.add_clause(lemmas.clause(i));
    }
    if (!found_.none && found_.low <= top_) {
      const int shorter = -longer(found_.low - 1);
      cadical.add_clause({&shorter, 1});
    }
    const Verdict verdict = cadical.solve();
    if (verdict == Verdict::sat)
      throw std::logic_error("CaDiCaL does not confirm a bound on the makespan");
    return verdict == Verdict::unsat;
  }
  /// The greatest makespan that is asked about.
  Cycle top() const { return found_.high > 0 ? std::min(top_, found_.high - 1) : top_; }

  const bool confirm_;
  const Project& project_;
  std::vector<Arc> arcs_;
  Makespan& found_;
  Budget budget_;
  Cdcl solver_;
  Formula formula_;
  Differences differences_;
  bool may_tell_ = false;  ///< what is proved
  Cycle top_, bottom_;
  int first_longer_ = 1;
  std::vector<order::StartLiterals> starts_;
  std::optional<order::TimeTable> time_table_;
};

}  // namespace

bool few_starts(const Project& project, Cycle high) {
  const auto ways = ways_of(project.problem, arcs_of(project));
  if (!ways) return true;
  Cycle starts = 0;
  for (std::size_t v = 0; v < ways->head.size(); ++v) {
    starts += std::max<Cycle>(0, high - ways->tail[v] - ways->head[v] + 1);
    if (starts > kMostStarts) return false;
  }
  return true;
}

void search_makespan(const Project& project, const Options& options, const std::stop_token& stop,
                     Cycle longest, bool confirm, Makespan& found) {
  ProjectSearch(project, options, stop, longest, confirm, found).run();
}

}  // namespace twill::bench
