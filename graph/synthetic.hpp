// Seeded random loops for experiments, from a handful of ops to hundreds: layers of tile-level ops
// on the units of a GPU, recurrences, and register files cut so tight that whether a schedule
// exists changes near the arithmetic bounds.
#pragma once

#include <cstdint>

#include "graph/problem.hpp"

namespace twill {

struct SyntheticLoop {
  std::uint64_t seed = 1;
  int ops = 12;         ///< 1 .. kMaxOps
  int width = 3;        ///< ops of a layer, about: independent work
  int recurrences = 1;  ///< loop-carried cycles through several layers
  int slots = 3;        ///< slots besides the one of loads
  Cycle longest = 6;    ///< cycles of an op, 1 .. longest
  int pressure = 80;    ///< per cent of the registers that the smallest lifetimes fill at the
                        ///< bound on I; 0 = registers do not bind
};

/// Passes check(), every op has a slot, every reservation begins at its op's issue
/// (monotone_in_ii). The same on every machine. Throws InputError when a knob is out of range.
Problem synthetic_loop(const SyntheticLoop& knobs);

}  // namespace twill
