// Accumulators out of registers, as 16-bit elements in a tile that TMA stores.
#pragma once

#include "gpu/hopper/ptx.cuh"
#include "gpu/hopper/wgmma.cuh"

namespace twill::gpu {

/// Offset of a 16-byte chunk (0 to 7) of a row of 128 bytes in a panel, 128-byte swizzled.
__device__ __forceinline__ std::uint32_t swizzled(int row, int chunk) {
  return static_cast<std::uint32_t>(row * 128 + ((chunk ^ (row & 7)) << 4));
}

/// A warpgroup's 64 x kColumns accumulator, rows of half h times factor[h], to the tile
/// [panel][64 rows][64 elements] at `to`, 128-byte swizzled.
template <Element kElement, int kColumns>
__device__ __forceinline__ void store_accumulator(std::uint32_t to, const float (&d)[kColumns / 2],
                                                  const float (&factor)[2]) {
  const int lane = static_cast<int>(threadIdx.x % 32),
            warp = static_cast<int>(threadIdx.x % 128 / 32);
  const int row = warp * 16 + (lane & 15);
#pragma unroll
  for (int c = 0; c < kColumns / 16; ++c) {  // 16 columns: two chunks of 16 bytes
    const int panel = c / 4, chunk = c % 4 * 2 + (lane >> 4);
    const float* v = d + 8 * c;
    store_matrix_x4(to + panel * 64 * 128 + swizzled(row, chunk),
                    pack<kElement>(v[0] * factor[0], v[1] * factor[0]),
                    pack<kElement>(v[2] * factor[1], v[3] * factor[1]),
                    pack<kElement>(v[4] * factor[0], v[5] * factor[0]),
                    pack<kElement>(v[6] * factor[1], v[7] * factor[1]));
  }
}

}  // namespace twill::gpu
