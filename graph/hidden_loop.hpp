// Seeded loops built around a schedule that is known: hard ones, in which what has a capacity is
// just large enough for it. The schedule's I is an upper bound; the optimum may be lower.
#pragma once

#include <cstdint>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

struct HiddenKnobs {
  std::uint64_t seed = 1;
  int ops = 50;          ///< 1 .. kMaxOps
  int slots = 3;         ///< besides the one of loads, 1 .. 64
  Cycle longest = 1000;  ///< cycles of an op, 1 .. longest
  int carried = 8;       ///< per cent of the ops that a later iteration's op reads, 0 .. 100
  /// Per cent of a register file, of a memory and of a unit of several instances that the hidden
  /// schedule takes where it takes the most, 1 .. 100. 100 = there is no more than it needs.
  int filled = 100;
};

struct HiddenLoop {
  Problem problem;
  Schedule schedule;  ///< accepted by verify()
};

/// Ops on the units of a GPU (tensor core, special functions, arithmetic, loads), placed one after
/// the other at random: on a slot, at the first cycle from which everything has room or somewhat
/// later. Then the capacities are cut to what that took. Passes check(); every reservation begins
/// at its op's issue (monotone_in_ii). The same on every machine. Throws InputError when a knob is
/// out of range.
HiddenLoop hidden_loop(const HiddenKnobs& knobs);

}  // namespace twill
