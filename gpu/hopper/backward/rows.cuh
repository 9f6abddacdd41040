// The two small launches around the Hopper backward kernel: delta and the log-sum-exp before it, dQ
// in rows of 16-bit elements after it. A block of 256 threads works on one tile of query rows of
// one head.
#pragma once

#include "gpu/hopper/backward/arguments.hpp"
#include "gpu/hopper/ptx.cuh"
#include "gpu/hopper/wgmma.cuh"

namespace twill::gpu {

inline constexpr int kRowThreads = 256;
/// Rows of dQ in shared memory are this many elements apart: not all in one bank.
template <int kHeadDim>
inline constexpr int kRowPitch = kHeadDim + 8;

__device__ __forceinline__ std::uint16_t* row_of(const DeviceTensor& tensor, int batch, int head,
                                                 int row) {
  return tensor.data + batch * tensor.batch_stride + head * tensor.head_stride +
         row * tensor.sequence_stride;
}

/// delta = row sum of dO * O; the log-sum-exp in base 2. Rows that see no key and rows beyond the
/// last get +infinity, with which every P = exp2(S - lse) is 0. Zeroes dQ's sum and the counters.
template <Element kElement, int kHeadDim>
__device__ __forceinline__ void delta_block(const DeltaArguments& g) {
  constexpr int kLanes = kHeadDim / 8;  // of a row, 16 bytes each
  const int head = static_cast<int>(blockIdx.x) / g.tiles;
  const int tile = static_cast<int>(blockIdx.x) % g.tiles;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kLanes;
  for (int r = thread / kLanes; r < g.rows; r += kRowThreads / kLanes) {
    const int row = tile * g.rows + r;
    float sum = 0.f;
    if (row < g.query_length) {
      const int batch = head / g.query_heads, own = head % g.query_heads;
      const uint4 a = reinterpret_cast<const uint4*>(row_of(g.o, batch, own, row))[lane];
      const uint4 b = reinterpret_cast<const uint4*>(row_of(g.d_o, batch, own, row))[lane];
      const std::uint32_t x[4] = {a.x, a.y, a.z, a.w}, y[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 u = unpack<kElement>(x[i]), v = unpack<kElement>(y[i]);
        sum = fmaf(u.x, v.x, fmaf(u.y, v.y, sum));
      }
    }
#pragma unroll
    for (int flip = kLanes / 2; flip > 0; flip /= 2) sum += __shfl_xor_sync(~0u, sum, flip);
    if (lane == 0) {
      const std::size_t at = static_cast<std::size_t>(blockIdx.x) * g.rows + r;
      float lse = INFINITY;
      if (row < g.query_length)
        lse = g.lse_natural[static_cast<std::size_t>(head) * g.query_length + row] *
              1.44269504088896341f;
      g.lse[at] = lse == -INFINITY ? INFINITY : lse;
      g.delta[at] = sum;
    }
  }
  float4* const dq =
      reinterpret_cast<float4*>(g.dq + static_cast<std::size_t>(blockIdx.x) * g.rows * kHeadDim);
  for (int i = thread; i < g.rows * kHeadDim / 4; i += kRowThreads) dq[i] = float4{0, 0, 0, 0};
  if (thread == 0 && g.added) g.added[blockIdx.x] = 0;
  if (thread == 0 && blockIdx.x == 0 && g.next_unit) *g.next_unit = 0;
}

/// dQ = scale * its sum; `staging` is kMostRows x kRowPitch elements in shared memory.
template <Element kElement, int kHeadDim>
__device__ __forceinline__ void convert_block(const ConvertArguments& g, std::uint16_t* staging) {
  const int head = static_cast<int>(blockIdx.x) / g.tiles;
  const int tile = static_cast<int>(blockIdx.x) % g.tiles, thread = static_cast<int>(threadIdx.x);
  const int quads = g.rows * kHeadDim / kConsumers / 4;  // of a warpgroup's part
  const float4* const dq = reinterpret_cast<const float4*>(
      g.dq + static_cast<std::size_t>(blockIdx.x) * g.rows * kHeadDim);
  for (int k = thread; k < kConsumers * quads; k += kRowThreads) {
    const float4 quad = dq[k];
    const float x[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const DqPlace place =
          dq_place(kHeadDim, g.rows, k / quads, k % quads % 128, k % quads / 128 * 4 + i);
      staging[place.row * kRowPitch<kHeadDim> + place.column] =
          static_cast<std::uint16_t>(pack<kElement>(x[i] * g.scale, 0.f));
    }
  }
  __syncthreads();
  for (int k = thread; k < g.rows * kHeadDim / 8; k += kRowThreads) {
    const int r = k / (kHeadDim / 8), chunk = k % (kHeadDim / 8), row = tile * g.rows + r;
    if (row < g.query_length)
      reinterpret_cast<uint4*>(
          row_of(g.d_q, head / g.query_heads, head % g.query_heads, row))[chunk] =
          *reinterpret_cast<const uint4*>(staging + r * kRowPitch<kHeadDim> + 8 * chunk);
  }
}

}  // namespace twill::gpu
