// In which order the list scheduler takes the ops.
#pragma once

#include <vector>

#include "graph/problem.hpp"
#include "graph/random.hpp"

namespace twill {

/// Swing order (Llosa, Gonzalez, Ayguade and Valero, "Swing modulo scheduling: a lifetime-sensitive
/// approach", PACT 1996): the ops of carried cycles first, the tightest cycle's before the others;
/// then each op beside one that is before it in the order, so that it is placed close to it, and
/// has, where that can be had, either producers or consumers before it, not both. At `ii`, which no
/// dependence cycle exceeds.
std::vector<int> swing_order(const Problem& problem, Cycle ii);

/// Producers before consumers; of what is ready, first what the longest way leads on from.
std::vector<int> height_order(const Problem& problem);

/// Producers before consumers, such that little of registers and memories is taken at a time (as if
/// all slots had one register file), by threshold accepting. (pressure_order.cpp)
std::vector<int> pressure_order(const Problem& problem, SplitMix64& random);

/// The unit with the most to do for its capacity (0 where none has anything), and what uses it.
struct BusiestUnit {
  int unit = 0;
  std::vector<int> users = {};  ///< ascending
};
BusiestUnit busiest_unit(const Problem& problem);

}  // namespace twill
