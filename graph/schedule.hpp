// A schedule and the record of how it was found: what solve() returns, what a schedule file holds
// and what verify() judges. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// A modulo schedule with a slot for each op: op v of iteration i is issued at start[v] + i * I on
/// slot warp[v]. `length` is L = the smallest T with start[v] + cycles(v) <= T for all v, so a
/// zero-cycle op may start at L itself.
struct Schedule {
  Cycle initiation_interval = 0;
  Cycle length = 0;
  std::vector<Cycle> start;  ///< per op, >= 0
  std::vector<int> warp;     ///< per op, index into Problem::warps
  bool operator==(const Schedule&) const = default;
};

/// max over v of start[v] + cycles(v).
Cycle schedule_length(const Problem& problem, const std::vector<Cycle>& start);

/// Number of stages, 1 + max floor(start / I).
Cycle stage_count(const Schedule& schedule);

enum class Status {
  optimal,     ///< smallest I, then L (or whole_time, then I), within the search that was asked for
  feasible,    ///< stopped early: the lower bounds say how far from optimal
  infeasible,  ///< no schedule at any I (or at the I asked for); `conflict` says what clashes
  unknown,     ///< stopped before any schedule was found
};
const char* to_string(Status status);

/// Why a search ended.
enum class Stop {
  unsaid,          ///< nothing was recorded
  bound,           ///< arithmetic: what was found meets the bounds, or they exclude everything
  refuted,         ///< a refutation: nothing better is there, or nothing at all
  time_limit,      ///< of wall clock
  conflict_limit,  ///< of the SAT solver's conflicts
  memory_limit,    ///< also: the system had no more
  interrupt,       ///< the caller asked for it
};
/// "time limit", "conflict limit", "memory limit", "stopped" (interrupt), "bound", "refuted", "".
const char* to_string(Stop stop);
/// The other way; unsaid for any other text.
Stop parse_stop(std::string_view text);
/// Did something end it before its answer was final?
bool cut_short(Stop stop);

/// Why there is no schedule: a constraint of the problem that takes part in a clash, or what else
/// excludes all of them.
struct Reason {
  enum Kind {
    pin,          ///< Problem::pins[index]
    unit,         ///< capacity of unit `index`
    registers,    ///< of slots, for the results of `ops`
    memory,       ///< memory `index`, for the results of `ops`
    wait,         ///< edge `index` is blocking (rule 8)
    hold,         ///< edge `index` keeps its value after its use begins
    handover,     ///< edge `index` costs its spill across slots (rule 7)
    no_handover,  ///< edge `index` may not cross slots, as was asked
    dependence,   ///< delays of edges between `ops`, in their order (rule 1)
    no_slot,      ///< ops.front() fits on no slot (rule 5)
    bound,        ///< arithmetic excludes the interval that was asked for
    interval,     ///< the interval that was asked for is refuted, as a whole
    better,       ///< what was asked to be better than something is refuted, as a whole
    split,        ///< the register splits together: each slot alone could have enough
    window,       ///< nothing in the paper's window, which leaves schedules out
    formula,      ///< the paper's formula as printed, which proves nothing
    too_large,    ///< the formula was not made
    inner_loop,   ///< inner loop `index` keeps its offsets and its slots for itself (rule 12)
  } kind = interval;
  std::string text;           ///< for people: "registers of w0 at residue 3: S 128 + P 64 = ..."
  std::vector<int> ops = {};  ///< whom it is about
  int index = -1;
  /// Does it force the others, and is short of nothing itself?
  bool forces() const { return kind >= hold && kind <= dependence; }
};
/// Its text; "forced by ..." of one that forces.
std::string conflict_text(const Reason& reason);

/// One secondary goal with its value and proved lower bound.
struct Goal {
  std::string name;
  std::int64_t value = 0;
  std::int64_t lower_bound = 0;
};

/// What a number of iterations takes (rule 11): (N - 1) I + L cycles.
struct WholeTime {
  Cycle iterations = 1;
  Cycle cycles = 0;       ///< of the schedule; 0 = there is none
  Cycle lower_bound = 0;  ///< proved: no schedule takes fewer; 0 = nothing proved
  bool operator==(const WholeTime&) const = default;
};

/// Goals were allowed to cost cycles of L.
struct LengthSlack {
  Cycle cycles = 0;   ///< how many
  Cycle at_most = 0;  ///< the longest that a schedule might be: the shortest of all, and `cycles`
  bool operator==(const LengthSlack&) const = default;
};

/// Where a schedule's problem came from and what solved it: what a person, or a program, needs to
/// make it again. Informative: nothing that is proved rests on it, and a problem file never has it.
struct MadeBy {
  std::string twill;                  ///< version of the program or library that solved
  std::string machine;                ///< its name
  std::string machine_sha256;         ///< of the machine file's bytes
  std::string layout;                 ///< the slot layout's name
  std::vector<std::string> settings;  ///< what-ifs, in order: "units.SFU=2" (LowerOptions::set)
  /// How the kernel was put on the machine: ("reading", "machine"), ("normalize", "300") ...
  std::vector<std::pair<std::string, std::string>> options;
  bool operator==(const MadeBy&) const = default;
};

class Evidence;  // engine/certificate/evidence.hpp

/// Everything a schedule file records. `schedule` is absent for infeasible and unknown.
struct Solution {
  std::string problem;         ///< name
  std::string problem_sha256;  ///< of the problem file's bytes
  Status status = Status::unknown;
  std::optional<Schedule> schedule;
  Cycle ii_lower_bound = 0;           ///< proved: no schedule has a smaller I
  Cycle length_lower_bound = 0;       ///< proved: at this I none is shorter; 0 = nothing proved
  std::string stages;                 ///< the search that was run: "complete", "paper" or a number
  Cycle max_stages = 0;               ///< largest stage count that was tried
  std::vector<Reason> reasons;        ///< why there is no schedule; not in the file, but as
  std::vector<std::string> conflict;  ///< conflict_text() of each
  std::map<std::string, std::int64_t> ring_depths;  ///< per streaming op
  std::vector<Goal> goals;
  /// Where the time of a number of iterations was to be small, not I: `optimal` then means that
  /// none is smaller, nor as small at a smaller I. (ii_lower_bound is about any schedule all the
  /// same, length_lower_bound about those at the schedule's I.)
  std::optional<WholeTime> whole_time;
  /// Where goals might cost cycles of L: `optimal` then means that of the schedules at this I and
  /// of at most this length the goals are the smallest in their order, with the goal "length" among
  /// them. length_lower_bound is of all schedules at this I all the same.
  std::optional<LengthSlack> length_slack;
  std::optional<MadeBy> made_by;  ///< none where only a problem was given: nobody knows
  std::string engine;
  std::vector<std::pair<std::string, std::string>> options;
  // Informative, not reproducible:
  double seconds = 0;
  std::int64_t conflicts = 0;
  Stop stop = Stop::unsaid;  ///< what cut it short is among the file's options
  /// Deprecated, goes with 2.0: to_string(stop) where that cuts short, else "".
  std::string stopped_by;
  // Not in the file:
  std::int64_t variables = 0, clauses = 0;   ///< of the largest formula
  std::shared_ptr<const Evidence> evidence;  ///< refutations with proofs, where they were asked for
};

/// Sets `reasons`, and `conflict` after them.
void set_reasons(Solution& solution, std::vector<Reason> reasons);
/// Sets `stop`, and `stopped_by` after it.
void set_stop(Solution& solution, Stop stop);

}  // namespace twill
