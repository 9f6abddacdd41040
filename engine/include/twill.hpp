// Twill: provably best software pipelines and warp specialisations for GPU loops.
//
// The one public header. Read or build a problem, solve it, verify the answer:
//
//   twill::Problem problem = twill::read_problem("loop.problem.json");
//   twill::Solution solution = twill::solve(problem);
//   if (solution.schedule && !twill::verify(problem, *solution.schedule)) ... // accepted
//
// No global state, no printing, re-entrant. Bad input throws twill::InputError (file, place, value,
// rule); nothing else is thrown but std::bad_alloc. The C interface is twill.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "graph/check.hpp"        // check(problem): the input phase
#include "graph/covers.hpp"       // covers(a, b): one slot layout can do all that another can
#include "graph/error.hpp"        // InputError
#include "graph/lower.hpp"        // kernels and machines -> problems
#include "graph/problem.hpp"      // Problem and its parts
#include "graph/problem_io.hpp"   // problem files
#include "graph/schedule.hpp"     // Schedule, Solution, Status
#include "graph/schedule_io.hpp"  // schedule files
#include "graph/tiles.hpp"        // kernels with parameters -> problems
#include "graph/unroll.hpp"       // several iterations in one
#include "graph/verify.hpp"       // verify(problem, schedule): the independent judge

namespace twill {

/// Stages (iterations in flight) to search.
struct StageChoice {
  enum Kind {
    complete,  ///< all that can matter, up to a proved bound
    paper,     ///< Algorithm 1's window ceil(L/I) = ceil(LEN/I)
    limited    ///< a number
  } kind = complete;
  Cycle most = 0;  ///< limited: from 1 to 999999
};

enum class EngineChoice {
  /// order, but for the straight-line forms, for a start encoding that was asked for, for loops of
  /// more than 1,000 ops, which only time_indexed has, and for ops of at most 1,000 cycles together
  /// that take several instances of a unit which has more of them.
  automatic,
  order,          ///< rows in difference logic: its time does not depend on the number of cycles
  order_cadical,  ///< order, searched by CaDiCaL (1.6 or later) as its propagator, not by Twill
  time_indexed    ///< every cycle in clauses
};

/// What to search for and how. Every field has the program's default.
struct Options {
  /// Deprecated, goes with 2.0: search_stages as a text, "complete", "paper" or a number.
  std::string stages = "complete";
  /// Only this initiation interval (then the smallest length at it).
  std::optional<Cycle> ii;
  /// 0 = the loop runs for long: smallest I, then smallest L. N >= 1 = the smallest time of N
  /// iterations, (N - 1) I + L, then the smallest I (rule 11 in graph/README.md): of few iterations
  /// a larger I with a shorter fill can take less. At most 100,000. Complete search or a number of
  /// stages, on the modulo form. Solution::whole_time has the time and its bound.
  Cycle iterations = 0;
  /// Only a schedule better than this (I, L) is wanted: a smaller I, or the same I and a smaller L
  /// (L <= 0: only a smaller I); with `iterations` a smaller time, or the same time and a smaller
  /// I. `infeasible` then means that there is none. Complete search on the modulo form only.
  std::optional<std::pair<Cycle, Cycle>> better_than;
  /// May a register result be consumed on another slot than its producer's? false prohibits
  /// cross-warp communication (the paper's ablation, Section 6.2.2). Modulo form only.
  bool handover = true;
  /// Deprecated, goes with 2.0: Problem::pins have more kinds. Ops that must be on a slot, (op id,
  /// slot name). They become pins of the problem at once: a solution's hash, its certificate and
  /// the problems of SplitSolution and LayoutsSolution are of the problem with them. Modulo form
  /// only.
  std::vector<std::pair<std::string, std::string>> pins;
  /// Goals after I and L, in this order, each minimised exactly within the values of those before
  /// it: slots, handovers, crossings, registers, registers:SLOT, memory:NAME, rings, ring:LOAD,
  /// issuers, issuers:UNIT, lifetime, start:OP, slot:OP, spills, length (with length_slack), or a
  /// sum of those that count, with weights, as "10*handovers+3*slots" (encoders/goals.hpp). slack,
  /// as the first, is maximised before L: its value is the negative of what the edge with the least
  /// has to spare (graph/slack.hpp), and L and its bound are then of the schedules with that slack;
  /// no evidence. "canonical", as the last, stands for start and slot of every op in the problem's
  /// order: it leaves one schedule, the same whatever the seed and engine. Modulo form, complete
  /// search or a number of stages.
  std::vector<std::string> goals;
  /// Goals may cost so many cycles of L: of all schedules with the smallest I that are at most this
  /// much longer than the shortest, those with the smallest goals, and of these the shortest (the
  /// goal "length", which may also be named earlier). solve_layouts() then compares the goals of
  /// all layouts, within this much of the shortest of all; without it goals are those of the layout
  /// with the smallest I and L. Needs goals; not with `slack`, `iterations`, `better_than`,
  /// register splits or tiles. At most 10^9.
  std::optional<Cycle> length_slack;
  /// Deprecated, goes with 2.0: search_engine as a text, "order", "time_indexed" (once "cnf", which
  /// is still read), "order-cadical" or "auto".
  std::string engine = "auto";
  /// Encodings by name, "key=value,...": see `twill encodings`. Unnamed keys follow the documented
  /// automatic rule.
  std::string encoding;
  /// Where there is no schedule at any I, find a minimal set of constraints that clash
  /// (Solution::reasons). It can take longer than the proof that there is none: see
  /// why_infeasible(). The paper's window and the straight-line forms always do.
  bool explain = true;
  /// Keep the refutations with their proofs, for write_certificate(). Complete search or a number
  /// of stages, on the modulo form.
  bool evidence = false;
  /// Threads for the parallel parts; 0 = all cores. The answer does not depend on it.
  int threads = 0;
  std::uint64_t seed = 0;
  double time_limit = 0;            ///< seconds of wall clock; 0 = none
  std::int64_t conflict_limit = 0;  ///< SAT conflicts in all; 0 = none
  /// Bytes of formula and process; 0 = none, unlike the program's default (`twill solve --help`):
  /// only the caller knows what else the process is for.
  std::int64_t memory_limit = 0;
  std::optional<StageChoice> search_stages;   ///< none = as `stages` says
  std::optional<EngineChoice> search_engine;  ///< none = as `engine` says
};

/// A snapshot for a progress line. Zero = not known yet.
struct Progress {
  std::string phase;   ///< for a person: "bounds", "list", "interval", "length" and others
  std::string layout;  ///< of solve_layouts(): the one that is being solved
  Cycle ii_low = 0, ii_high = 0;          ///< proved bound and best found
  Cycle length_low = 0, length_high = 0;  ///< at ii_high
  std::int64_t variables = 0, clauses = 0, conflicts = 0;
  double seconds = 0;
};
using ProgressCallback = std::function<void(const Progress&)>;

/// The best schedule: smallest I, then smallest L. The answer is verified before it is returned.
/// Same problem, options and seed: same answer, whatever the machine and the number of threads,
/// unless a limit or the stop token ended the search (then the best so far is returned).
/// Throws InputError when the problem or the options are not well formed.
Solution solve(const Problem& problem, const Options& options = {}, std::stop_token stop = {},
               const ProgressCallback& progress = {});

/// Pursues options.goals from a solution of solve() with the same problem and options that is
/// optimal in I and L (others stay as they are): solve() does it by itself, unless options.goals
/// was empty then. Fills solution.goals; a limit of `options` leaves lower bounds below the values.
void pursue_goals(const Problem& problem, const Options& options, Solution& solution,
                  std::stop_token stop = {});

/// A solution, with the register split that was chosen for it.
struct SplitSolution {
  Problem problem;        ///< with the chosen counts on its slots: what `solution` solves
  RegisterCounts counts;  ///< gross, one a share of the pool; empty = no split was chosen
  Solution solution;
  int asked = 0;  ///< problems that were solved on the way
};

/// The best schedule over all register splits of a pool: smallest I, then smallest L; goals are
/// pursued for the split that was chosen, evidence is kept for all. `problem` and `pool` are those
/// of lower() with LowerOptions::choose_registers; only the registers of its slots are chosen. Of
/// several splits with the best (I, L): what the schedule found needs, and what is left of the pool
/// goes to the slots with the least to spare. Infeasible, with `problem` as it was, when there is
/// no schedule even if each slot has the most of any split. Complete search or a number of stages,
/// on the modulo form. Throws InputError, also when the pool's shares are not the problem's slots.
SplitSolution solve_split(const Problem& problem, const RegisterPool& pool,
                          const Options& options = {}, std::stop_token stop = {},
                          const ProgressCallback& progress = {});

/// What became of one layout.
struct LayoutOutcome {
  /// None where another layout covers this one, or where a limit came first.
  std::optional<Solution> solution;
  std::string covered_by;    ///< the layout that can do all that this one can; "" = there is none
  bool none_better = false;  ///< only a better schedule than another layout's was sought: none
};
using LayoutCallback = std::function<void(const Lowered&, const LayoutOutcome&)>;

/// The best of several layouts.
struct LayoutsSolution {
  std::vector<Lowered> layouts;  ///< as given; where registers were chosen, with their counts
  std::vector<LayoutOutcome> outcomes;  ///< one a layout
  /// The layout of the best schedule: smallest I, then smallest L, then the first. Where there is
  /// none: one that was not settled, if there is one, else the first that was solved.
  std::size_t chosen = 0;
  /// Of all layouts together. optimal: no layout has a better schedule; infeasible: none has any.
  Status status = Status::unknown;

  const Lowered& layout() const { return layouts[chosen]; }
  const Solution& solution() const { return *outcomes[chosen].solution; }
};

/// The main job, as `twill solve` does it: the best schedule of a kernel over all its layouts, with
/// the goals of `options` and, where a layout has a pool (LowerOptions::choose_registers), the best
/// register split. The limits are those of all together. `done` is told each layout's outcome.
///
///   twill::solve_layouts(twill::lower(kernel, "kernel.json", machine, "machine.json"), options)
///
/// Throws InputError like solve() and solve_split(), and where there is no layout.
LayoutsSolution solve_layouts(std::vector<Lowered> layouts, const Options& options = {},
                              std::stop_token stop = {}, const ProgressCallback& progress = {},
                              const LayoutCallback& done = {});

/// What became of one choice of tiles.
struct TileOutcome {
  enum Closed {
    best,      ///< it is the best one
    misfit,    ///< its layout cannot hold it (TileChoice::misfit)
    by_bound,  ///< arithmetic: no better than the best one so far
    refuted,   ///< a refutation: no better than the best one so far
    beaten,    ///< it has a schedule, and another choice a better one
    none,      ///< it has no schedule at any I
    covered,   ///< an earlier layout can do all that this one can (`covered_by`)
    open       ///< a limit came first
  } closed = open;
  std::optional<Solution> solution;  ///< of the search, where it was asked
  /// Proved: no schedule has a smaller I, nor this one and a smaller L. 0 = nothing of L.
  Cycle ii_bound = 0, length_bound = 0;
  std::string why;         ///< by_bound: the arithmetic
  std::string covered_by;  ///< covered: the layout
};

/// The best of several choices of tiles.
struct TilesSolution {
  std::vector<TileChoice> choices;    ///< as given; where registers were chosen, with their counts
  std::vector<TileOutcome> outcomes;  ///< one a choice
  std::optional<std::size_t> chosen;  ///< none where no schedule was found
  /// Of all choices together. optimal: none has a smaller I / work, nor the same and a smaller
  /// L / work, nor the same of both and an earlier place; infeasible: none has a schedule.
  Status status = Status::unknown;
  Stop stop = Stop::unsaid;  ///< what cut it short; refuted = nothing did
  double seconds = 0;

  const TileChoice& choice() const { return choices[*chosen]; }
  const Problem& problem() const { return choice().lowered->problem; }
  /// With the values among its options.
  const Solution& solution() const { return *outcomes[*chosen].solution; }
};
/// Told which choice is asked about, and how many are closed.
using TileCallback = std::function<void(const TileChoice&, std::size_t closed)>;

/// The best choice of lower_tiles() with its best schedule: the smallest I / work, compared as
/// exact fractions, then the smallest L / work, then the first. Every other choice has a bound or a
/// refutation that says it is no better; where feasibility is not monotone in I, of every smaller
/// I. Goals are pursued for the choice that was made; with LowerOptions::choose_registers the
/// register split is chosen with the rest. The limits are those of all together. That a loop's last
/// iteration may be a part of a tile (a ragged end) is not counted. Complete search or a number of
/// stages, on the modulo form, at no fixed I. Throws InputError like solve_layouts().
TilesSolution solve_tiles(std::vector<TileChoice> choices, const Options& options = {},
                          std::stop_token stop = {}, const ProgressCallback& progress = {},
                          const TileCallback& asked = {});

/// a / b and c / d: -1, 0, 1 as the first is less, the same or more. Exact.
int compare_ratios(Cycle a, Amount b, Cycle c, Amount d);

/// What the options of a schedule file say of the values it is for: "tile keys" -> "176".
void record_values(Solution& solution, const ParameterValues& values);

/// Writes into a solution of its problem what `lowered` was made of, and this library's version
/// (Solution::made_by); nothing where that is not known. solve_layouts() and solve_tiles() do it.
void record_made_by(Solution& solution, const Lowered& lowered);

/// What choices were lowered from, for whoever lowers them again.
struct TileSource {
  std::string kernel, machine;  ///< the texts
  LowerOptions options;
};

/// Writes a certificate of `tiles` (with Options::evidence, from lower_tiles() of `source`): one of
/// every choice, the texts, and what is claimed of all. check_certificate() lowers them again and
/// accepts that no choice is better. Throws InputError as write_certificate() does, and where a
/// limit left a choice open.
void write_tiles_certificate(const std::string& directory, const TilesSolution& tiles,
                             const TileSource& source);

/// Which constraints clash, none of which can be left out: for a problem of which solve() has
/// proved with the same options that it has no schedule at any I. Empty when a limit ends the
/// search. Complete search or a number of stages, on the modulo form.
std::vector<Reason> why_infeasible(const Problem& problem, const Options& options = {},
                                   std::stop_token stop = {});
/// Deprecated, goes with 2.0: conflict_text() of each.
std::vector<std::string> clash(const Problem& problem, const Options& options = {},
                               std::stop_token stop = {});

/// Writes the certificate of `solution` for `problem` into `directory`, which must not exist or be
/// empty: whole or not at all. `twill check` and check_certificate() read it; what it has is told
/// in engine/certificate/certificate.hpp. The solution must come from one of the calls above with
/// Options::evidence. Throws InputError when the directory cannot be written, or the solution
/// claims what its evidence does not prove.
void write_certificate(const std::string& directory, const Problem& problem,
                       const Solution& solution);

struct CertificateReport {
  bool accepted = false;
  std::string refusal;              ///< the file, the place and the rule broken; "" when accepted
  std::string restriction;          ///< restriction_of() the solution: stands in every claim
  std::vector<std::string> proved;  ///< "no schedule has I < 2436: refutation ..."
  std::vector<std::string> checks;  ///< what was done, a line each: hashes, lemmas, proofs
  Solution solution;                ///< schedule.json
};

struct CertificateOptions {
  /// Run drat-trim (Wetzler, Heule and Hunt 2014) on every proof too when it is on the PATH.
  bool drat_trim = true;
};

/// Checks everything. Throws InputError when a file is missing or cannot be read as what it is.
CertificateReport check_certificate(const std::string& directory,
                                    const CertificateOptions& options = {});

/// Version of this library, "1.0.0".
const char* version();

}  // namespace twill
