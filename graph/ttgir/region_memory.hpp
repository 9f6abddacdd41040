// Shared memory of a loop that Triton partitions.
#pragma once

#include <cstdint>

#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/placer.hpp"

namespace twill::ttgir {

/// What Triton (as of 3.7 to 3.9) allocates, bytes: every load by descriptor in the region has a
/// ring, all of as many buffers as the launch has stages; a tile that goes from one partition to
/// another has one buffer, so has what is stored by descriptor, and what is allocated in the region
/// or before it and used there, and what a loop around it stores by descriptor. Loads through
/// pointers have as many as there are stages from them to their first use.
struct RegionMemory {
  std::int64_t once = 0;
  std::int64_t ring = 0;  ///< one buffer of each ring
};

RegionMemory region_memory(const LoweredModule& lowered, const Placer& placer);

/// Buffers that each ring should have: as many as the schedule's deepest, if that fits; 0 where
/// not even two fit.
std::int64_t fitting_depth(const LoweredModule& lowered, const Placer& placer);

}  // namespace twill::ttgir
