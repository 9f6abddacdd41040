// Seeded tiny loops with everything on at once, and seeded questions about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/include/twill.hpp"
#include "tests/support/every_schedule.hpp"

namespace twill::test {

/// A problem and what is asked of it.
struct WildCase {
  Problem problem;
  Options options;                   ///< without an engine
  std::optional<RegisterPool> pool;  ///< of solve_split()
  std::string order, cnf;            ///< encodings of the two engines
  /// Also: the straight-line form, the paper's window, with a stop requested from the start, on
  /// several threads.
  Cycle iterations = 0;  ///< whose least time is asked for, too; 0 = not
  bool straight = false, paper = false, stopped = false, threads = false;
};

/// 1 to 5 ops; unit capacities above 1, several segments a unit, widths of ops and slots, a
/// variable-latency slot, streaming loads, spills, blocking, holds beyond I, rings charged,
/// zero-cycle ops, distances up to 3, self edges, parallel edges and pins of all kinds; in half of
/// the loops loads in flight, in a fifth an inner loop with given offsets, in half channels, with
/// fractions, some that bind, some beyond where the ops can run one after the other. Asked: an
/// interval, a number of stages, no hand-overs, ops on slots, goals. The same on every machine.
WildCase wild_case(std::uint64_t seed);

/// The question in the words of the enumeration.
TruthAsked asked(const WildCase& wild);

}  // namespace twill::test
