// A loop that a compiler has pipelined or partitioned, written as one loop again.
//
// The loop is replayed (replay.hpp); from which execution reads what which other one wrote follow
// the distances of the dependences, from these the iteration that each op works for (retime.hpp),
// and from the order of time an order of one iteration's ops. What stands for hand-overs goes:
// barriers, positions in rings, a store into a ring and the loads from it. Nothing is guessed: the
// loop that is written is checked to read, in every iteration, what the replayed one did;
// everything that is not understood is refused.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/replay.hpp"

namespace twill::ttgir {

/// The text of a module with one function and one loop.
struct Undone {
  std::string text;
  /// The function is there as a whole, as it was before (peeled.hpp). Else the loop alone: numbers
  /// that only addresses are made of (offsets of the loop's variable, first values of what is
  /// carried) are not those of the source, and nothing stands behind it.
  bool whole = false;
  CannotUndo why_alone;  ///< why it is not whole
  /// Per line of the text, from 1: line and column of the op in the module that it came from.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places;
  /// Bytes of shared memory that are taken while the loop runs, for what comes after it: the tile
  /// that an epilogue stores. The text does not have them.
  std::int64_t resident = 0;
};

/// Throws CannotUndo.
Undone undo_schedule(const Module& module, int loop);

}  // namespace twill::ttgir
