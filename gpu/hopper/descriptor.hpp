// Shared memory matrix descriptors of wgmma (PTX ISA).
#pragma once

#include <cstdint>

#include "gpu/hopper/both.hpp"

namespace twill::gpu {

/// Descriptor of a 128-byte swizzled tile at a shared address. K-major operand: `leading` unused,
/// `stride` 1024 = bytes between groups of 8 rows. MN-major operand: `leading` = bytes between
/// panels of 64 elements, `stride` 1024. A step of n bytes along a tile adds n / 16.
TWILL_GPU_BOTH std::uint64_t tile_descriptor(std::uint32_t address, std::uint32_t leading,
                                             std::uint32_t stride) {
  return static_cast<std::uint64_t>((address & 0x3FFFF) >> 4) |
         static_cast<std::uint64_t>(leading >> 4) << 16 |
         static_cast<std::uint64_t>(stride >> 4) << 32 | std::uint64_t{1} << 62;
}

}  // namespace twill::gpu
