// Why an initiation interval cannot be reached: which constraints clash, and what would help.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/decide.hpp"
#include "engine/include/twill.hpp"

namespace twill {

/// A change of the problem, in words, and whether it has a schedule at the interval.
struct Relaxation {
  std::string text;  ///< "16 more registers on softmax0"
  Verdict reaches = Verdict::unknown;
};

struct IntervalExplanation {
  Cycle ii = 0;
  /// unsat = no schedule has this interval (CaDiCaL's refutation, or a bound); then the rest is
  /// filled. sat = there is one, nothing to explain. unknown = a limit came first.
  Verdict verdict = Verdict::unknown;
  /// Constraints that, with the dependences of the loop, leave no schedule; each was tried to be
  /// without. One line that begins with "recurrence" where the dependences are enough.
  std::vector<std::string> clash;
  /// Without any one of them there is a schedule. False where that was not decided for some within
  /// the conflicts allowed: they stay in the clash.
  bool minimal = true;
  std::vector<Relaxation> relaxations;  ///< single ones, each tried
};

/// Explains `ii` over all stages (or the number in options.stages), with the pins of `options`.
/// Deletion on whole constraints of the problem: pins, units, memories, registers of slots, spills,
/// waits and holds; families first, then one by one. Every question may take `question_conflicts`,
/// all of them the limits of `options`. Throws InputError like solve().
IntervalExplanation explain_interval(const Problem& problem, Cycle ii, const Options& options = {},
                                     const std::stop_token& stop = {},
                                     std::int64_t question_conflicts = 20'000);

}  // namespace twill
