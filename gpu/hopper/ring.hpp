// Rings of buffers in shared memory.
#pragma once

#include <cstdint>

#include "gpu/hopper/both.hpp"

namespace twill::gpu {

/// Position in a ring and the parity of the pass over it: one counter, which may wrap around only
/// if the ring is a power of two.
template <int kRing>
struct RingPosition {
  std::uint32_t count = 0;
  TWILL_GPU_BOTH std::uint32_t index() const { return count % kRing; }
  TWILL_GPU_BOTH std::uint32_t parity() const { return count / kRing & 1; }
};

}  // namespace twill::gpu
