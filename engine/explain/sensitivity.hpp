// How far a cost may be off before the answer changes.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "engine/include/twill.hpp"

namespace twill {

/// With how many cycles of one op, all others as they are, I stays the smallest.
struct OpSensitivity {
  int op = 0;
  Cycle least = 0;  ///< fewer, and a smaller I is possible; at least 1
  std::optional<Cycle>
      most;  ///< more, and I is not possible; nullopt = no number was found, see below
  std::optional<Cycle> most_with_slots;  ///< the same with every op on the slot that it has
  bool decided = true;  ///< false = a limit came first, and the range is what was proved
};

/// `problem` with `cycles` >= 1 for op `v`, which has some: its reservations and the delays behind
/// it are scaled with it, rounded up, and what was as long as the op stays so.
Problem with_cycles(const Problem& problem, int v, Cycle cycles);

/// Of every op with cycles, by bisection: with single segments feasibility falls as an op takes
/// longer, at I and at I - 1. `schedule` must be valid and its I the smallest. Numbers of cycles up
/// to four times the larger of I and the op's are tried. Where feasibility is not monotone in I
/// (monotone_from()) the list is empty. The limits of `options` hold for all questions together.
/// Throws InputError like solve().
std::vector<OpSensitivity> sensitivity(const Problem& problem, const Schedule& schedule,
                                       const Options& options = {},
                                       const std::stop_token& stop = {});

}  // namespace twill
