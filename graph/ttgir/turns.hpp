// How the partitions of a loop take turns once Triton has put in what hands over between them.
//
// Triton (read in its passes NVWSInsertAref, NVWSInsertTmemAref and LowerAref of 3.9, and found so
// in what comes out of 3.7 to 3.9) hands a value from one partition to another through one buffer,
// what is loaded by descriptor through a ring. The buffer of iteration i + 1 is not written before
// all partitions that read that of iteration i have come to their last use. A buffer of tensor
// memory belongs to one partition at a time: who has used it gives it away there, and takes it back
// where its first access stands, in the place of the iteration that this has, but behind all else
// there. Partitions execute in order, so an order that suits the schedule, in which values have as
// many copies as are live, can wait for ever here. The turns are played through.
#pragma once

#include <cstdint>
#include <string>

#include "graph/problem.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/placer.hpp"

namespace twill::ttgir {

struct Turns {
  bool ends = true;  ///< does no partition wait for ever?
  /// Cycles from iteration to iteration once the loop runs, with the schedule's costs and each
  /// partition as early as it can; of several iterations, rounded up.
  Cycle interval = 0;
};

/// Of the loop with the ops where the placer has them and rings of `depth` buffers.
Turns take_turns(const LoweredModule& lowered, const Problem& problem, const Placer& placer,
                 std::int64_t depth);

struct Settled {
  bool ends = true;  ///< false: some partition waits for ever in every order that was tried
  std::string said;  ///< what was changed, or why it does not end, for the user; "" if neither
};

/// Where partitions would wait for ever, or longer than the schedule's interval, those that wait
/// less so have their ops in the order of the text. Where it does not end the placer is left as it
/// was.
Settled settle_turns(const LoweredModule& lowered, const Problem& problem, Placer& placer,
                     std::int64_t depth);

}  // namespace twill::ttgir
