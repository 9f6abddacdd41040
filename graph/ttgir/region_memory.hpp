// Shared memory of a loop that Triton partitions.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/placer.hpp"

namespace twill::ttgir {

/// What Triton (as of 3.7 to 3.9) allocates, bytes: every load by descriptor in the region has a
/// ring, all of as many buffers as the launch has stages; a tile that goes from one partition to
/// another has one buffer, so has what is stored by descriptor, and what is allocated in the region
/// or before it and used there, and what a loop around it stores by descriptor. Loads through
/// pointers have one more than there are stages from them to their last use, and one for products
/// that run on. An estimate from above: what is left out takes less than a kilobyte.
struct RegionMemory {
  std::int64_t once = 0;
  std::int64_t ring = 0;  ///< one buffer of each ring
  struct Handed {
    int op = -1;
    std::int64_t bytes = 0;
    std::vector<int> users;  ///< in all partitions
  };
  std::vector<Handed> handed;  ///< tiles from partition to partition, part of `once`
};

RegionMemory region_memory(const LoweredModule& lowered, const Placer& placer);

/// Buffers that each ring should have: as many as the schedule's deepest, if that fits; 0 where
/// not even two fit.
std::int64_t fitting_depth(const LoweredModule& lowered, const Placer& placer);

/// Where not even two buffers a ring fit: of the tiles that are handed on the largest that have to
/// stay for that, as pins of those that use them to the slot of the op that makes them. {}: it
/// fits, or does not with all of them.
std::vector<Pin> pins_for_memory(const LoweredModule& lowered, const Problem& problem,
                                 const Schedule& schedule);

}  // namespace twill::ttgir
