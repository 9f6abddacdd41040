// A slot of a program as code for every trip count: prologue, steady loop, epilogue. Knows no
// target language.
#pragma once

#include <vector>

#include "graph/program/program.hpp"

namespace twill::emit {

/// An iteration of the loop, counted from its beginning, from the steady loop's variable i, or from
/// the trip count n.
struct Iteration {
  enum From { begin, loop, end } from = begin;
  int offset = 0;
  Iteration operator+(int k) const { return {from, offset + k}; }
};

/// A wait or an op. A wait is left out where its iteration exists in no run of this code, and
/// guarded where it exists in some.
struct Step {
  bool is_wait = false;
  int index = 0;           ///< of the wait or of the op
  Iteration iteration;     ///< of the op; of a wait, the op that is waited for
  bool if_begun = false;   ///< the wait: only where its iteration is >= 0 (counted through tiles)
  bool if_exists = false;  ///< the wait: only where its iteration is < n
  int lag = 0;             ///< in guarded code: of the op's iteration, behind i
};

/// With n >= depth the slot runs the prologue, `steady` for i = 0 .. n - depth - 1 (every op of the
/// slot once) and the epilogue; with n < depth, short_runs[n]. The earliest ops are those of
/// iterations i + depth in the loop. That it goes through its ops period by period from its own
/// first one on changes nothing: only the order within the slot counts.
struct SlotCode {
  int slot = 0;
  int depth = 0;  ///< periods that one iteration's ops are spread over, less one
  std::vector<Step> prologue, steady, epilogue;
  std::vector<std::vector<Step>> short_runs;
  /// Not 0: there is nothing but `steady`, for i = 0 .. n + guarded - 1, of which each step is done
  /// where 0 <= i - lag < n: the same, with few lines where there are many stages.
  int guarded = 0;
};

/// Copy and parity of iteration k in a ring: k mod R and (k / R) mod 2.
struct RingPlace {
  int copy = 0;
  int parity = 0;
};
/// Of an iteration counted from the beginning (-1, -2, ... are what was there before the loop).
RingPlace ring_place(int iteration, int depth);

}  // namespace twill::emit
