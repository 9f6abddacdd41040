// Seeded random problems and schedules, the same on every machine.
#pragma once

#include <cstdint>

#include "graph/problem.hpp"
#include "graph/random.hpp"
#include "graph/schedule.hpp"

namespace twill::test {

class Random : public SplitMix64 {
 public:
  using SplitMix64::SplitMix64;
  bool percent(int chance) { return range(0, 99) < chance; }
};

/// As an int, from low to high.
inline int pick(Random& random, std::int64_t low, std::int64_t high) {
  return static_cast<int>(random.range(low, high));
}

/// What random_loop() may use. All is on by default; "max" of 0 switches a feature off.
struct LoopKnobs {
  int min_ops = 2;
  int max_ops = 5;
  Cycle max_cycles = 3;
  int max_units = 3;
  Amount max_capacity = 2;  ///< instances of a unit
  int max_memories = 2;
  int max_slots = 3;  ///< without the variable-latency slot
  int max_edges_per_op = 2;
  int max_distance = 2;
  Cycle max_hold = 2;
  Cycle max_spill = 3;
  Amount max_registers = 4;  ///< of a result; slots hold up to 3 times as many
  bool wide_ops = true;      ///< widths 1 and 4
  bool zero_cycle_ops = true;
  bool blocking = true;
  bool variable_latency_slot = true;  ///< in half of the problems
  bool streaming = true;              ///< needs variable_latency_slot; a third of its ops
  bool pipelined_units = true;        ///< reservations shorter than the op
  bool multi_segment = true;          ///< several segments, offsets > 0: not monotone in I
  bool identical_slots = true;        ///< slots that only differ in their name
  bool always_placeable = true;       ///< every op has a slot that is allowed
  bool charged_rings = true;          ///< in a third of the memories
  // Off by default, and drawn apart: what is drawn without them stays the same.
  int max_channels = 0;  ///< with fractions; some bind
  bool flight = false;   ///< half of the streaming loads are in flight instead
};

/// A problem that passes check(). Feasible or not: the caller finds out.
Problem random_loop(std::uint64_t seed, const LoopKnobs& knobs = {});

/// The same with one or two streaming loads that others use, directly or through zero-cycle ops
/// that hold their buffers, in a first memory that charges their rings.
Problem ring_loop(std::uint64_t seed, const LoopKnobs& knobs = {});

/// A small loop in whose shared (or tensor) memory room is scarce; some ops are products.
Problem scarce_loop(std::uint64_t seed);

/// The loop and a copy of it, without edges between them, on the same machine: what two sub-tiles
/// with nothing in common are.
Problem beside_itself(const Problem& problem);

/// A schedule whose vectors fit `problem`, with interval in [1, max_interval]: slots mostly
/// allowed, starts mostly repaired so that the dependences and spills hold where the interval
/// permits it, length correct. About half of them break some rule.
Schedule random_schedule(const Problem& problem, Random& random, Cycle max_interval);

}  // namespace twill::test
