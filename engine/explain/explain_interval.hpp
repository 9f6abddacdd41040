// Why an initiation interval cannot be reached: which constraints clash, and what would help.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/decide.hpp"
#include "engine/include/twill.hpp"

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
  /// What has too little room at this interval, and who waits, then what forces that
  /// (clash_words.hpp): with the loop's slots these constraints leave no schedule. One with the
  /// arithmetic where a bound is above the interval.
  std::vector<Reason> reasons;
  /// The texts of the reasons that force the others, and of those that do not.
  std::vector<std::string> texts(bool forces) const;
  /// Without any one of them there is a schedule for the others. False where that was not decided
  /// for all within the limits: one may not be needed.
  bool minimal = true;
  std::vector<Relaxation> relaxations;  ///< single ones, each tried
};

/// Explains `ii`, or with 0 that no interval has a schedule, over all stages (or the number in
/// `options`), with the pins of `options`. The engine of `options` decides the interval and
/// the changes; the clash is the order form's (engine/explain/clash.hpp). Every question but the
/// first may take `question_conflicts`, all of them the limits of `options`. Throws InputError like
/// solve().
IntervalExplanation explain_interval(const Problem& problem, Cycle ii, const Options& options = {},
                                     const std::stop_token& stop = {},
                                     std::int64_t question_conflicts = 20'000);

}  // namespace twill
