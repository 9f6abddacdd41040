// Tiles and vectors out of registers, for emitted kernels: to shared memory for another slot or for
// TMA, to global memory.
#pragma once

#include <cstdint>

#include "gpu/hopper/slots/registers.cuh"
#include "gpu/hopper/store.cuh"

namespace twill::gpu {

/// A tile to be stored by TMA: per block of 64 rows [panel][64 rows][64 columns], 128-byte
/// swizzled, from `to` on. `group`: the warpgroup of the slot.
template <Element kElement, int kBlocks, int kColumns>
__device__ __forceinline__ void store_tile(std::uint32_t to, int group,
                                           const HalfTile<kElement, kBlocks, kColumns>& d) {
  const int lane = static_cast<int>(threadIdx.x % 32),
            warp = static_cast<int>(threadIdx.x % 128 / 32);
  const int row = warp * 16 + (lane & 15);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int c = 0; c < kColumns / 16; ++c) {
      const int panel = c / 4, chunk = c % 4 * 2 + (lane >> 4);
      const std::uint32_t* v = d.x[b] + 4 * c;
      store_matrix_x4(to +
                          static_cast<std::uint32_t>((group * kBlocks + b) * 64 * kColumns * 2 +
                                                     panel * 64 * 128) +
                          swizzled(row, chunk),
                      v[0], v[1], v[2], v[3]);
    }
}

/// A tile of kRows rows that products read (KMajor, MnMajor): [panel][kRows][64 columns].
template <int kRows, Element kElement, int kBlocks, int kColumns>
__device__ __forceinline__ void store_operand(std::uint32_t to, int group,
                                              const HalfTile<kElement, kBlocks, kColumns>& d) {
  const int lane = static_cast<int>(threadIdx.x % 32),
            warp = static_cast<int>(threadIdx.x % 128 / 32);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    const int row = (group * kBlocks + b) * 64 + warp * 16 + (lane & 15);
    const std::uint32_t first = (to + swizzled(row, lane >> 4));
#pragma unroll
    for (int c = 0; c < kColumns / 16; ++c) {  // (A swizzle is an exclusive or.)
      const std::uint32_t* v = d.x[b] + 4 * c;
      store_matrix_x4((first ^ (c % 4 * 32)) + c / 4 * kRows * 128, v[0], v[1], v[2], v[3]);
    }
  }
}

/// The same to registers: a tile of 16-bit elements that TMA or store_operand() wrote. The eight
/// addresses of a matrix of ldmatrix lie in eight chunks of 16 bytes of other banks: that is what
/// the swizzle is for. Where TMA writes the tile again, the slot has to fence (fence_async_shared)
/// before it tells that it has read it.
template <int kRows, Element kElement, int kBlocks, int kColumns>
__device__ __forceinline__ void load_operand(HalfTile<kElement, kBlocks, kColumns>& d,
                                             std::uint32_t from, int group) {
  const int lane = static_cast<int>(threadIdx.x % 32),
            warp = static_cast<int>(threadIdx.x % 128 / 32);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    const int row = (group * kBlocks + b) * 64 + warp * 16 + (lane & 15);
    const std::uint32_t first = (from + swizzled(row, lane >> 4));
#pragma unroll
    for (int c = 0; c < kColumns / 16; ++c) {  // (A swizzle is an exclusive or.)
      std::uint32_t* v = d.x[b] + 4 * c;
      load_matrix_x4((first ^ (c % 4 * 32)) + c / 4 * kRows * 128, v[0], v[1], v[2], v[3]);
    }
  }
}

/// Where a thread's first pair lies in a tile of fp32 that TMA copies: [panel of 32
/// columns][kRows][32 columns], 128-byte swizzled; rows from 64 `block` on, columns from `first`, a
/// multiple of 32, on.
template <int kRows>
__device__ __forceinline__ std::uint32_t first_in_panels(std::uint32_t tile, int block, int first) {
  const int lane = static_cast<int>(threadIdx.x % 32),
            warp = static_cast<int>(threadIdx.x % 128 / 32);
  const int row = block * 64 + warp * 16 + lane / 4, column = 2 * (lane % 4);
  return tile + first / 32 * kRows * 128 + swizzled(row, column / 4) + column % 4 * 4;
}
/// Where its pair `j`, `h` (as of a Tile) lies from there. (A swizzle is an exclusive or, the same
/// 8 rows further on.)
template <int kRows>
__device__ __forceinline__ std::uint32_t pair_in_panels(std::uint32_t first, int j, int h) {
  return (first ^ (j % 4 * 32)) + j / 4 * kRows * 128 + h * 8 * 128;
}

/// A tile of fp32 that TMA adds.
template <int kRows, int kBlocks, int kColumns>
__device__ __forceinline__ void store_panels(std::uint32_t to, int block, int first,
                                             const Tile<kBlocks, kColumns>& d) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    const std::uint32_t begin = first_in_panels<kRows>(to, block + b, first);
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        store_shared_2(pair_in_panels<kRows>(begin, j, h), d.x[b][4 * j + 2 * h],
                       d.x[b][4 * j + 2 * h + 1]);
  }
}
/// The same to registers, of a tile that TMA wrote. (The half of a warp that reads at once has four
/// rows and two chunks of 16 bytes of each; two rows next to each other have the same two chunks,
/// so that banks conflict by twos, as where panels are stored.)
template <int kRows, int kBlocks, int kColumns>
__device__ __forceinline__ void load_panels(Tile<kBlocks, kColumns>& d, std::uint32_t from,
                                            int block, int first) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    const std::uint32_t begin = first_in_panels<kRows>(from, block + b, first);
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float2 pair = load_shared_2(pair_in_panels<kRows>(begin, j, h));
        d.x[b][4 * j + 2 * h] = pair.x;
        d.x[b][4 * j + 2 * h + 1] = pair.y;
      }
  }
}
/// A vector in shared memory along the columns, from `first` on. Where TMA writes it, the slot has
/// to fence (fence_async_shared) before it tells that it has read it.
template <int kColumns>
__device__ __forceinline__ Columns<kColumns> columns_of(std::uint32_t from, int first) {
  Columns<kColumns> d;
#pragma unroll
  for (int j = 0; j < kColumns / 8; ++j) {
    const float2 x = load_shared_2(
        from +
        static_cast<std::uint32_t>(first + 8 * j + 2 * static_cast<int>(threadIdx.x % 4)) * 4);
    d.x[2 * j] = x.x, d.x[2 * j + 1] = x.y;
  }
  return d;
}

/// A tile of fp32 for slots of as many warpgroups: each thread's values lie together in fours, so
/// that it reads what the same thread of the other slot wrote.
template <int kBlocks, int kColumns>
__device__ __forceinline__ void store_fragments(std::uint32_t to, int group,
                                                const Tile<kBlocks, kColumns>& d) {
  to += static_cast<std::uint32_t>(group * kBlocks * 64 * kColumns * 4) + threadIdx.x % 128 * 16;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int i = 0; i < kColumns / 8; ++i)
      store_shared_4(to + (b * kColumns / 8 + i) * 128 * 16, d.x[b][4 * i], d.x[b][4 * i + 1],
                     d.x[b][4 * i + 2], d.x[b][4 * i + 3]);
}
template <int kBlocks, int kColumns>
__device__ __forceinline__ void load_fragments(Tile<kBlocks, kColumns>& d, std::uint32_t from,
                                               int group) {
  from += static_cast<std::uint32_t>(group * kBlocks * 64 * kColumns * 4) + threadIdx.x % 128 * 16;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int i = 0; i < kColumns / 8; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float2 pair = load_shared_2(from + (b * kColumns / 8 + i) * 128 * 16 + half * 8);
        d.x[b][4 * i + 2 * half] = pair.x;
        d.x[b][4 * i + 2 * half + 1] = pair.y;
      }
}

__device__ __forceinline__ std::uint32_t bits_of(float x) {
#ifdef TWILL_GPU_EMULATED
  return std::bit_cast<std::uint32_t>(x);
#else
  return __float_as_uint(x);
#endif
}
__device__ __forceinline__ float number_of(std::uint32_t x) {
#ifdef TWILL_GPU_EMULATED
  return std::bit_cast<float>(x);
#else
  return __uint_as_float(x);
#endif
}

/// A vector, 4 bytes a row; one lane of a row writes.
template <int kBlocks>
__device__ __forceinline__ void store_rows(std::uint32_t to, int group, const Rows<kBlocks>& d) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      if (threadIdx.x % 4 == 0)
        store_shared(to + 4 * row_of<kBlocks>(group, b, h), bits_of(d.x[b][h]));
}
template <int kBlocks>
__device__ __forceinline__ void load_rows(Rows<kBlocks>& d, std::uint32_t from, int group) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      d.x[b][h] = number_of(load_shared(from + 4 * row_of<kBlocks>(group, b, h)));
}
/// The same to global memory.
template <int kBlocks>
__device__ __forceinline__ void write_rows(float* to, int group, const Rows<kBlocks>& d) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      if (threadIdx.x % 4 == 0) to[row_of<kBlocks>(group, b, h)] = d.x[b][h];
}
/// From global memory, which nobody writes meanwhile.
template <int kBlocks>
__device__ __forceinline__ void read_rows(Rows<kBlocks>& d, const float* from, int group) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int h = 0; h < 2; ++h) d.x[b][h] = from[row_of<kBlocks>(group, b, h)];
}

/// One row of a tile of fp32 to shared memory, by the four lanes that have it; load_rows() takes it
/// as a vector, when the slot's warps have met.
template <int kBlocks, int kColumns>
__device__ __forceinline__ void store_row(std::uint32_t to, int group, int row,
                                          const Tile<kBlocks, kColumns>& d) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      if (row_of<kBlocks>(group, b, h) == row)
#pragma unroll
        for (int j = 0; j < kColumns / 8; ++j)
          store_shared_2(
              to + static_cast<std::uint32_t>(8 * j + 2 * static_cast<int>(threadIdx.x % 4)) * 4,
              d.x[b][4 * j + 2 * h], d.x[b][4 * j + 2 * h + 1]);
}

/// `words` words of 4 bytes, all `word`, by all threads of the block: what is carried into
/// iteration 0 in memory.
__device__ __forceinline__ void fill_shared(std::uint32_t to, int words, std::uint32_t word,
                                            int threads) {
  for (int k = static_cast<int>(threadIdx.x); k < words; k += threads)
    store_shared(to + 4 * k, word);
}

}  // namespace twill::gpu
