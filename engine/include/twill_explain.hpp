// Twill's answers to "why" for C++: what keeps the interval from being smaller, what binds in a
// schedule, how far a cost may be off. Beside twill.hpp, which it includes.
//
//   const twill::Solution best = twill::solve(problem);
//   if (const auto ii = twill::interval_to_explain(best))
//     for (const auto& reason : twill::explain_interval(problem, *ii).reasons) ... reason.text
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "graph/verdict.hpp"
#include "twill.hpp"

namespace twill {

/// An answer, and where evidence is kept (Options::evidence) or any interval will do, what it was
/// found for: then write_certificate(problem, solution) shows it to others.
struct Tried {
  Verdict verdict = Verdict::unknown;
  Problem problem = {};
  Solution solution = {};
};

/// A change of the problem, in words, and whether it has a schedule at the interval.
struct Relaxation {
  std::string text;  ///< "16 more registers on softmax0"
  Tried tried;
};

struct IntervalExplanation {
  Cycle ii = 0;    ///< 0 = any
  Tried question;  ///< of the problem itself
  /// unsat = no schedule has this interval (CaDiCaL's refutation, or a bound); then the rest is
  /// filled. sat = there is one, nothing to explain. unknown = a limit came first.
  Verdict verdict() const { return question.verdict; }
  /// What has too little room at this interval, and who waits, then what forces that: with the
  /// loop's slots these constraints leave no schedule. One with the arithmetic where a bound is
  /// above the interval.
  std::vector<Reason> reasons;
  /// The texts of the reasons that force the others, and of those that do not.
  std::vector<std::string> texts(bool forces) const;
  /// Without any one of them there is a schedule for the others. False where that was not decided
  /// for all within the limits: one may not be needed.
  bool minimal = true;
  /// Single ones, each tried; at last, of an interval, that two iterations in one take twice as
  /// long.
  std::vector<Relaxation> relaxations;
};

/// The interval that an answer of solve() leaves to explain: one below the best, or 0 where no
/// interval has a schedule. nullopt = there is none, since I = 1 was reached or a limit came first.
std::optional<Cycle> interval_to_explain(const Solution& solution);

/// Explains `ii`, or with 0 that no interval has a schedule, over all stages (or the number in
/// `options`), with the pins of `options`. The engine of `options` decides the interval and
/// the changes; the clash is the order form's (engine/explain/clash.hpp). Every question but the
/// first may take `question_conflicts`, all of them the limits of `options`. Throws InputError like
/// solve().
IntervalExplanation explain_interval(const Problem& problem, Cycle ii, const Options& options = {},
                                     const std::stop_token& stop = {},
                                     std::int64_t question_conflicts = 20'000);

/// An explanation of a loop on a layout, whose register split may be to choose (Lowered::pool).
struct LayoutExplanation {
  Problem problem;    ///< what is explained
  Solution solution;  ///< the best of `problem`, where no interval was asked for or a split chosen
  /// With a split to choose. every: `problem` has the most of any split on every slot, so that what
  /// is refuted is so for all splits; best: it has the counts of the best split, which then are
  /// limits in the explanation; others were searched.
  enum Split { none, every, best } split = none;
  /// nullopt = there is nothing to explain: the solution's status and conflict say why.
  std::optional<IntervalExplanation> explanation;
};

/// As explain_interval(), of `ii`, or without one of what interval_to_explain() leaves of the best
/// schedule, for which the loop is solved. Throws InputError like solve() and solve_split().
LayoutExplanation explain_layout(const Lowered& lowered, std::optional<Cycle> ii = std::nullopt,
                                 const Options& options = {}, const std::stop_token& stop = {});

/// With how many cycles of one op, all others as they are, I stays the smallest.
struct OpSensitivity {
  int op = 0;
  Cycle least = 0;  ///< fewer, and a smaller I is possible; at least 1
  std::optional<Cycle>
      most;  ///< more, and I is not possible; nullopt = no number was found, see below
  std::optional<Cycle> most_with_slots;  ///< the same with every op on the slot that it has
  bool decided = true;  ///< false = a limit came first, and the range is what was proved
};

/// Of every op with cycles, by bisection: with single segments feasibility falls as an op takes
/// longer, at I and at I - 1. `schedule` must be valid and its I the smallest. Numbers of cycles up
/// to four times the larger of I and the op's are tried. Where feasibility is not monotone in I
/// the list is empty. The limits of `options` hold for all questions together. Throws InputError
/// like solve().
std::vector<OpSensitivity> sensitivity(const Problem& problem, const Schedule& schedule,
                                       const Options& options = {},
                                       const std::stop_token& stop = {});

/// What every unit, slot, memory and channel has left in a schedule, and what holds its I up.
struct Evaluation {
  struct Unit {
    std::string name;
    double busy = 0;  ///< share of I
  };
  struct Slot {
    std::string name;
    int ops = 0;
    Cycle cycles = 0;
    Amount registers_peak = 0, registers_free = 0;  ///< a thread
  };
  struct Ring {
    std::string load;
    Cycle buffers = 0;
    Amount each = 0;
  };
  struct Memory {
    std::string name;
    Amount peak = 0, free = 0;
    std::optional<std::vector<Ring>> rings;  ///< of a memory that charges them
  };
  struct Channel {
    std::string name;
    double busy = 0;  ///< share of I
    Cycle least = 1;  ///< the smallest I at its rate
    std::string text;
  };
  struct LowerBound {
    Cycle value = 1;
    std::string name, text;  ///< "units", and the arithmetic
  };
  struct Step {
    std::string from, to;
    Cycle cycles = 0;  ///< `to` is at least that long after `from`, but for whole iterations
    std::string reason;
  };
  /// The orders around which the loop cannot go faster.
  struct Recurrence {
    Cycle ii = 0, cycles = 0, iterations = 0;  ///< ii = ceil(cycles / iterations)
    std::vector<Step> steps;
  };

  Cycle initiation_interval = 0, length = 0;
  std::vector<Violation> violations;  ///< verify_all(); empty = the schedule is accepted
  bool accepted() const { return violations.empty(); }
  /// Could units, slots and memories be looked at? Not where an op is on no slot.
  bool placed = false;
  std::vector<Unit> units;
  std::vector<Slot> slots;
  std::vector<Memory> memories;
  std::vector<Channel> channels;  ///< those that something passes through
  std::vector<LowerBound> bounds;
  std::optional<Recurrence> critical_recurrence;  ///< of an accepted schedule
};

/// No search: arithmetic on the schedule alone. `problem` must pass check(); of `schedule` nothing
/// is assumed.
Evaluation evaluate(const Problem& problem, const Schedule& schedule);

/// What two schedules of a problem do differently.
struct ScheduleDifference {
  struct Number {
    std::string name;  ///< "I", "L", "stages", and the goals
    std::int64_t a = 0, b = 0;
  };
  std::vector<Number> numbers;  ///< all, also where they are equal
  std::vector<int> ops;         ///< that start elsewhere or are on another slot
};

/// Both schedules must be accepted by verify().
ScheduleDifference schedule_difference(const Problem& problem, const Schedule& a,
                                       const Schedule& b);

/// Throws InputError unless the directory does not exist or is empty: before an explanation that is
/// to be written there is searched for.
void require_new_directory(const std::string& directory);

/// Writes certificates of an explanation, made with Options::evidence, into a directory that does
/// not exist or is empty: a folder a question that was decided ("question", "relaxation-01", ...),
/// each for check_certificate(), and explanation.json, which names them. Throws InputError as
/// write_certificate() does.
void write_explanation(const std::string& directory, const Problem& problem,
                       const IntervalExplanation& explanation);

/// What if there were one more slot like `name`, with as many registers and on top of the layout?
/// Whether the register file has them is not asked. Adds it; false where the layout has no slot of
/// that name. Throws InputError where there can be only one like it.
bool add_slot(Lowered& lowered, const std::string& name);

/// The same as JSON, as `twill explain --json`, `evaluate --json` and `diff --json` print them.
/// `certified`: with the folders of write_explanation().
std::string explanation_json(const Problem& problem, const IntervalExplanation& explanation,
                             bool certified = false);
std::string explanation_json(const LayoutExplanation& explained, bool certified = false);
std::string sensitivity_json(const Problem& problem, const std::vector<OpSensitivity>& ranges);
std::string evaluation_json(const Evaluation& evaluation);
std::string difference_json(const Problem& problem, const Schedule& a, const Schedule& b,
                            const ScheduleDifference& difference);

}  // namespace twill
