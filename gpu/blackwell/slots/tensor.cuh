// Tensor memory of emitted kernels: tiles of 128 rows to and from registers, and products of whole
// tiles. A tile has a row a lane; of fp32 a column a column, of 16-bit elements two. Of a product
// of 64 rows each warp has 16, in the first half of its lanes (PTX ISA, tcgen05.mma, M = 64).
#pragma once

#include <cstdint>

#include "gpu/blackwell/slots/registers.cuh"
#include "gpu/blackwell/tcgen05.cuh"

namespace twill::gpu {

/// The same columns of the lanes that the warp reaches.
__device__ __forceinline__ TensorAddress own_lanes(TensorAddress at) {
  return at + (threadIdx.x / 32 % 4 << 21);
}

/// Columns of one instruction of loads and stores, of `columns` of 32 bits, at most `most`.
__host__ __device__ constexpr int columns_at_once(int columns, int most = 32) {
  while (columns % most != 0) most /= 2;
  return most;
}

/// Starts to load the thread's row: it is there after end_tensor_loads().
template <int kColumns>
__device__ __forceinline__ void start_tensor_load(LaneTile<kColumns>& d, TensorAddress at) {
  constexpr int kOnce = columns_at_once(kColumns);
#pragma unroll
  for (int c = 0; c < kColumns; c += kOnce) TensorColumns<kOnce>::load(d.x + c, own_lanes(at) + c);
}
/// The same of the result of a product of 64 rows, to the registers that wgmma's would have: the
/// warp's 16 rows lie in the first half of its lanes, and all its threads have some of them.
template <int kColumns>
__device__ __forceinline__ void start_tensor_load(Tile<1, kColumns>& d, TensorAddress at) {
  constexpr int kOnce = columns_at_once(kColumns / 2);
#pragma unroll
  for (int c = 0; c < kColumns / 2; c += kOnce)
    HalfLanes<kOnce>::load(d.x[0] + c, own_lanes(at) + 2 * c);
}
/// Until the warp's loads have ended: these registers are its own.
template <class... T>
__device__ __forceinline__ void end_tensor_loads(T&... d) {
  tensor_wait_loads();
  (pin(d.x), ...);
}
template <int kColumns>
__device__ __forceinline__ void end_tensor_loads(Tile<1, kColumns>& d) {
  tensor_wait_loads();
  pin(d.x[0]);
}
/// Starts to store the thread's row: it is there after end_tensor_stores().
template <int kColumns>
__device__ __forceinline__ void start_tensor_store(TensorAddress at, const LaneTile<kColumns>& d) {
  constexpr int kOnce = columns_at_once(kColumns);
#pragma unroll
  for (int c = 0; c < kColumns; c += kOnce) TensorColumns<kOnce>::store(own_lanes(at) + c, d.x + c);
}
template <Element kElement, int kColumns>
__device__ __forceinline__ void start_tensor_store(TensorAddress at,
                                                   const LaneHalfTile<kElement, kColumns>& d) {
  // (Of registers in a row ptxas finds fewer for what was rounded, beside the tile that it was.)
  constexpr int kOnce = columns_at_once(kColumns / 2, 16);
#pragma unroll
  for (int c = 0; c < kColumns / 2; c += kOnce)
    TensorColumns<kOnce>::store(own_lanes(at) + c, d.x + c);
}
__device__ __forceinline__ void end_tensor_stores() {
  tensor_wait_stores();
}

/// All of `columns` columns one number, by four warps: what is carried into iteration 0. Starts
/// stores.
__device__ __forceinline__ void fill_tensor(TensorAddress at, int columns, float x) {
  LaneTile<16> part;
  fill(part, x);
  for (int c = 0; c < columns; c += 16) start_tensor_store(at + c, part);
}

// An operand in shared memory: a tile of kRows rows, [panel of 64 columns][row][64 columns] with
// the 128-byte swizzle. In KMajorTile the product sums over the tile's columns, in MnMajorTile over
// its rows. descriptor(step): 16 of what is summed over.

template <int kRows>
struct KMajorTile {
  static constexpr bool kRowsSummed = false;
  std::uint32_t address;
  __device__ __forceinline__ std::uint64_t descriptor(int step) const {
    return operand_descriptor(address, 16, 1024) +
           static_cast<std::uint32_t>((step / 4 * kRows * 128 + step % 4 * 32) / 16);
  }
};
template <int kRows>
struct MnMajorTile {
  static constexpr bool kRowsSummed = true;
  std::uint32_t address;
  __device__ __forceinline__ std::uint64_t descriptor(int step) const {
    return operand_descriptor(address, kRows * 128, 1024) +
           static_cast<std::uint32_t>(step * 16 * 128 / 16);
  }
};
/// In tensor memory; left operands alone.
struct InLanes {
  static constexpr bool kRowsSummed = false;
  TensorAddress address;
};

template <Element kElement, int kRows, int kColumns, int kDepth, bool kAdd, class B>
__device__ __forceinline__ void multiply_tiles(TensorAddress d, const InLanes& a, const B& b) {
  static_assert(kRows == 128);
  constexpr std::uint32_t kHow =
      instruction_descriptor(kElement, 128, kColumns, false, B::kRowsSummed);
#pragma unroll
  for (int step = 0; step < kDepth / 16; ++step)
    tensor_multiply_lanes(d, a.address + step * 8, b.descriptor(step), kHow, kAdd || step != 0);
}
template <Element kElement, int kRows, int kColumns, int kDepth, bool kAdd, class A, class B>
__device__ __forceinline__ void multiply_tiles(TensorAddress d, const A& a, const B& b) {
  constexpr std::uint32_t kHow =
      instruction_descriptor(kElement, kRows, kColumns, A::kRowsSummed, B::kRowsSummed);
#pragma unroll
  for (int step = 0; step < kDepth / 16; ++step)
    tensor_multiply(d, a.descriptor(step), b.descriptor(step), kHow, kAdd || step != 0);
}
/// D = A B: d[kRows x kColumns] of a[kRows x kDepth] and b[kDepth x kColumns], by one thread.
template <Element kElement, int kColumns, int kDepth, int kRows = 128, class A, class B>
__device__ __forceinline__ void start_tensor_product(TensorAddress d, const A& a, const B& b) {
  multiply_tiles<kElement, kRows, kColumns, kDepth, false>(d, a, b);
}
/// D += A B.
template <Element kElement, int kColumns, int kDepth, int kRows = 128, class A, class B>
__device__ __forceinline__ void start_tensor_product_onto(TensorAddress d, const A& a, const B& b) {
  multiply_tiles<kElement, kRows, kColumns, kDepth, true>(d, a, b);
}

}  // namespace twill::gpu
