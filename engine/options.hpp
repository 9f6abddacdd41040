// The options of a call, read and checked.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "encoders/choose.hpp"
#include "engine/include/twill.hpp"

namespace twill {

class Engine;

/// Throws InputError on values that no search has.
void check_options(const Options& options);
/// For a question on the way, which is about I and L: no goals, and nothing that they may cost.
void drop_goals(Options& options);
/// The goals of `options`, written out (listed_goals()); "length" comes in the end, before
/// "canonical", where they may cost cycles of L and do not name it. Throws InputError, also for
/// "length" where they may not.
std::vector<std::string> goals_of(const Problem& problem, const Options& options);
/// What Options::length_slack does not go with. `what` is said of a choice that is made by I and L
/// alone.
void refuse_length_slack(const Options& options, const std::string& what);
/// What only the modulo form has: the straight-line program would go on as if it were not asked
/// for.
void refuse_modulo_options(const Options& options);
/// For what needs the complete search, or a number of stages, on the modulo form.
void refuse_paper(const Options& options, Form form);

/// What to search of stages, by the typed member or else the text. Throws InputError.
StageChoice stages_of(const Options& options);
/// "complete", "paper" or the number.
std::string to_string(const StageChoice& stages);
/// The same of the engine: the one that is chosen, by the rule of Options::search_engine. Throws
/// InputError where it cannot be had.
const Engine& chosen_engine(const Problem& problem, const Options& options,
                            const EncodingChoice& choice);

/// "no schedule is better than I = 512, L = 1368", or "no schedule has I < 512" where L plays no
/// part (Options::better_than).
std::string none_better_text(const std::pair<Cycle, Cycle>& than);

/// What is searched where there are Options::pins: they become pins of the problem at once.
struct PinnedProblem {
  Problem problem;
  Options options;  ///< without them
};
/// Throws InputError on names that the problem has not, and where a slot cannot have the op.
PinnedProblem pinned_problem(const Problem& problem, const Options& options);

}  // namespace twill
