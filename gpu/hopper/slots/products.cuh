// Products of whole tiles by wgmma, for emitted kernels: one group each, asynchronous from
// start_product to the end_products that covers it.
#pragma once

#include <cstdint>

#include "gpu/hopper/slots/registers.cuh"

namespace twill::gpu {

// An operand in shared memory: a tile of kRows rows, [panel of 64 columns][row][64 columns] with
// the 128-byte swizzle. In KMajor the product sums over the tile's columns, in MnMajor over its
// rows. descriptor(block, step): 64 rows (or columns) of the operand and one instruction's of what
// is summed over: 16, or 32 of 8 bits, of which a panel has 128 columns. That is 32 bytes of a row.

/// What an instruction sums over.
template <Element kElement>
inline constexpr int kSummedAtOnce = kElement == Element::f8 ? 32 : 16;

template <int kRows>
struct KMajor {
  static constexpr int kTransposed = 0;
  std::uint32_t address;
  __device__ __forceinline__ std::uint64_t descriptor(int block, int step) const {
    return tile_descriptor(address, 16, 1024) +
           static_cast<std::uint32_t>((block * 64 * 128 + step / 4 * kRows * 128 + step % 4 * 32) /
                                      16);
  }
};
template <int kRows>
struct MnMajor {
  static constexpr int kTransposed = 1;
  std::uint32_t address;
  __device__ __forceinline__ std::uint64_t descriptor(int block, int step) const {
    return tile_descriptor(address, kRows * 128, 1024) +
           static_cast<std::uint32_t>((block * kRows * 128 + step * 16 * 128) / 16);
  }
};

template <int kBlocks, int kColumns>
__device__ __forceinline__ void pin(Tile<kBlocks, kColumns>& d) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) pin(d.x[b]);
}
template <Element kElement, int kBlocks, int kColumns>
__device__ __forceinline__ void pin(HalfTile<kElement, kBlocks, kColumns>& d) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) pin(d.x[b]);
}

/// A in shared memory.
template <Element kElement, int kDepth, bool kAdd, class A, class B, int kBlocks, int kColumns>
__device__ __forceinline__ void multiply(Tile<kBlocks, kColumns>& d, const A& a, const B& b) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block)
#pragma unroll
    for (int step = 0; step < kDepth / kSummedAtOnce<kElement>; ++step)
      Wgmma<kElement, kColumns>::template ss<A::kTransposed, B::kTransposed>(
          d.x[block], a.descriptor(block, step), b.descriptor(0, step), kAdd || step != 0);
}
/// A in registers.
template <Element kElement, int kDepth, bool kAdd, class B, int kBlocks, int kColumns>
__device__ __forceinline__ void multiply(Tile<kBlocks, kColumns>& d,
                                         HalfTile<kElement, kBlocks, kDepth>& a, const B& b) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block)
#pragma unroll
    for (int step = 0; step < kDepth / kSummedAtOnce<kElement>; ++step)
      Wgmma<kElement, kColumns>::template rs<B::kTransposed>(
          d.x[block], a.x[block] + 4 * step, b.descriptor(0, step), kAdd || step != 0);
}

template <class A>
__device__ __forceinline__ void pin_operand(A&) {}
template <Element kElement, int kBlocks, int kColumns>
__device__ __forceinline__ void pin_operand(HalfTile<kElement, kBlocks, kColumns>& a) {
  pin(a);
}

/// D = A B: d[M x N] of a[M x kDepth] and b[kDepth x N].
template <Element kElement, int kDepth, class A, class B, int kBlocks, int kColumns>
__device__ __forceinline__ void start_product(Tile<kBlocks, kColumns>& d, A&& a, const B& b) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) forget(d.x[block]);
  pin_operand(a);
  wgmma_fence();
  multiply<kElement, kDepth, false>(d, a, b);
  wgmma_commit();
  pin(d);
  pin_operand(a);
}
/// D += A B.
template <Element kElement, int kDepth, class A, class B, int kBlocks, int kColumns>
__device__ __forceinline__ void start_product_onto(Tile<kBlocks, kColumns>& d, A&& a, const B& b) {
  pin(d);
  pin_operand(a);
  wgmma_fence();
  multiply<kElement, kDepth, true>(d, a, b);
  wgmma_commit();
  pin(d);
  pin_operand(a);
}

/// Until at most kPending groups of the warpgroup are in flight: these registers are its own again.
template <int kPending, class... T>
__device__ __forceinline__ void end_products(T&... registers) {
  wgmma_wait<kPending>();
  (pin(registers), ...);
}

}  // namespace twill::gpu
