// Rows of threads to shared memory for another slot or for TMA, to global memory; tiles have 128
// rows (gpu/hopper/slots/exchange.cuh for warpgroups that hold tiles as wgmma does).
#pragma once

#include <cstdint>

#include "gpu/blackwell/slots/registers.cuh"
#include "gpu/hopper/slots/exchange.cuh"

namespace twill::gpu {

__device__ __forceinline__ void store_shared_words(std::uint32_t address, std::uint32_t a,
                                                   std::uint32_t b, std::uint32_t c,
                                                   std::uint32_t d) {
#ifdef TWILL_GPU_EMULATED
  used(a), used(b), used(c), used(d);
#endif
  store_shared_4(address, number_of(a), number_of(b), number_of(c), number_of(d));
}

/// Of a tile that products read or TMA stores, [panel][128 rows][64 columns], 128-byte swizzled,
/// kColumns columns from `first` on, by 8.
template <Element kElement, int kColumns>
__device__ __forceinline__ void store_part(std::uint32_t to, int first,
                                           const LaneHalfTile<kElement, kColumns>& d) {
#pragma unroll
  for (int c = 0; c < kColumns / 8; ++c)
    store_shared_words(
        to + (first / 8 + c) / 8 * 128 * 128 + swizzled(lane_row(), (first / 8 + c) % 8),
        d.x[4 * c], d.x[4 * c + 1], d.x[4 * c + 2], d.x[4 * c + 3]);
}

/// All that the slot's warpgroups have of it.
template <int kRows, Element kElement, int kColumns>
__device__ __forceinline__ void store_operand(std::uint32_t to, int group,
                                              const LaneHalfTile<kElement, kColumns>& d) {
  static_assert(kRows == 128);
  store_part(to, group * kColumns, d);
}
/// A tile of fp32 that TMA adds: [panel of 32 columns][128 rows][32 columns], 128-byte swizzled.
template <int kColumns>
__device__ __forceinline__ void store_panels(std::uint32_t to, int group,
                                             const LaneTile<kColumns>& d) {
#pragma unroll
  for (int c = 0; c < kColumns / 4; ++c) {
    const int chunk = group * (kColumns / 4) + c;
    store_shared_4(to + chunk / 8 * 128 * 128 + swizzled(lane_row(), chunk % 8), d.x[4 * c],
                   d.x[4 * c + 1], d.x[4 * c + 2], d.x[4 * c + 3]);
  }
}
/// A vector in shared memory along the columns: the same in every row.
template <int kColumns>
__device__ __forceinline__ LaneTile<kColumns> along_columns(std::uint32_t from, int group) {
  LaneTile<kColumns> d;
#pragma unroll
  for (int i = 0; i < kColumns; i += 4) {
    const float4 x = load_shared_4(from + (group * kColumns + i) * 4);
    d.x[i] = x.x, d.x[i + 1] = x.y, d.x[i + 2] = x.z, d.x[i + 3] = x.w;
  }
  return d;
}

/// A tile of fp32 for another slot: each thread's values lie together in fours.
template <int kColumns>
__device__ __forceinline__ void store_fragments(std::uint32_t to, int group,
                                                const LaneTile<kColumns>& d) {
#pragma unroll
  for (int i = 0; i < kColumns / 4; ++i)
    store_shared_4(to + ((group * (kColumns / 4) + i) * 128 + lane_row()) * 16, d.x[4 * i],
                   d.x[4 * i + 1], d.x[4 * i + 2], d.x[4 * i + 3]);
}
template <int kColumns>
__device__ __forceinline__ void load_fragments(LaneTile<kColumns>& d, std::uint32_t from,
                                               int group) {
#pragma unroll
  for (int i = 0; i < kColumns / 4; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 pair =
          load_shared_2(from + ((group * (kColumns / 4) + i) * 128 + lane_row()) * 16 + half * 8);
      d.x[4 * i + 2 * half] = pair.x;
      d.x[4 * i + 2 * half + 1] = pair.y;
    }
}

/// A vector, 4 bytes a row.
__device__ __forceinline__ void store_rows(std::uint32_t to, int /*group*/, const LaneRow& d) {
  store_shared(to + 4 * lane_row(), bits_of(d.x));
}
__device__ __forceinline__ void load_rows(LaneRow& d, std::uint32_t from, int /*group*/) {
  d.x = number_of(load_shared(from + 4 * lane_row()));
}
/// The same to global memory.
__device__ __forceinline__ void write_rows(float* to, int /*group*/, const LaneRow& d) {
  to[lane_row()] = d.x;
}

}  // namespace twill::gpu
