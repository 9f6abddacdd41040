// The time of a number of iterations (rule 11), and what one refutation at an interval excludes at
// others. The smallest L is not monotone in I, so every I counts; the proofs are in whole_time.cpp.
#pragma once

#include <algorithm>
#include <optional>

#include "graph/problem.hpp"

namespace twill {

/// With so many iterations no whole time leaves 64 bits: kMaxIterations x kMaxInterval is 1e18.
inline constexpr Cycle kMaxIterations = 100'000;

/// (N - 1) I + L cycles: N iterations, the first begins at 0, the last ends.
constexpr Cycle whole_time(Cycle iterations, Cycle ii, Cycle length) {
  return (iterations - 1) * ii + length;
}

/// No schedule has a smaller L, whatever its I: the longest path over edges of distance 0, with the
/// spills that every schedule pays.
Cycle least_length(const Problem& problem);

/// The same loop without what one iteration wants of another: its edges of distance 0, and no
/// channels. What starts with L <= D are a schedule of `problem` at any I are one of it at every I
/// from WholeTimeQuestion::apart(D) on, so that a bound on its L there is one on every schedule's.
Problem one_iteration(const Problem& problem);

/// "Which I can have a better schedule than this one?" Better: a smaller whole time, or the same at
/// a smaller I. Keeps a reference to the problem, which check() has accepted.
class WholeTimeQuestion {
 public:
  /// `stage_limit` as in Options: 0 = any number of stages.
  WholeTimeQuestion(const Problem& problem, Cycle iterations, Cycle stage_limit);

  /// What to be better than: the time of a schedule, and its I. With an I of 0 only a smaller time
  /// is better.
  void set_best(Cycle time, Cycle ii) {
    time_ = time;
    ii_ = ii;
  }
  Cycle iterations() const { return iterations_; }
  Cycle time() const { return time_; }
  Cycle ii() const { return ii_; }
  /// No schedule has a smaller L: least_length(), or what one_iteration() was found to need.
  Cycle least() const { return least_; }
  void raise_least(Cycle length) { least_ = std::max(least_, length); }

  /// A schedule at `ii` is better if and only if its L is at most this; less than least() = none
  /// is.
  Cycle deadline(Cycle ii) const { return time_ - (iterations_ - 1) * ii - (ii < ii_ ? 0 : 1); }

  /// From this I on none is better, by least(); none where that holds of no I (N = 1).
  std::optional<Cycle> end() const;

  /// Where iterations do not meet: from this I on, starts that are a schedule of a length up to
  /// `deadline` at one I are one at every I.
  Cycle apart(Cycle deadline) const { return deadline + longest_ + 1; }

  /// Let there be no schedule at `at` of a length up to `refuted` (none = of any). Is there then
  /// none at `ii` that is better?
  bool excluded(Cycle ii, Cycle at, std::optional<Cycle> refuted) const;

  /// The least length at `at` whose refutation excludes every better schedule from `first` to `at`;
  /// none where the intervals between are no matter of `at`, because feasibility is not monotone.
  std::optional<Cycle> enough(Cycle first, Cycle at) const;

 private:
  const Problem& problem_;
  Cycle iterations_, stage_limit_, least_, longest_ = 1;
  std::optional<Cycle> monotone_;
  Cycle time_ = 0, ii_ = 0;
};

}  // namespace twill
