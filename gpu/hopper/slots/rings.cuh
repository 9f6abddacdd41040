// Rings of buffers and barriers by iteration: what a slot of an emitted kernel waits on and tells
// (twill emit --to cuda). Iteration k has copy k mod R and waits for parity (k / R) mod 2.
#pragma once

#include <cstdint>

#include "gpu/hopper/ptx.cuh"
#include "gpu/hopper/ring.hpp"

namespace twill::gpu {

/// Bytes of a barrier in shared memory.
inline constexpr std::uint32_t kBarrierBytes = 8;

/// The address of an iteration's copy in a ring of kRing copies, `bytes` each. iteration >= 0.
template <int kRing>
__device__ __forceinline__ std::uint32_t copy_of(std::uint32_t ring, std::uint32_t bytes,
                                                 int iteration) {
  return ring + RingPosition<kRing>{static_cast<std::uint32_t>(iteration)}.index() * bytes;
}
/// Its barrier in a ring of kPhases.
template <int kPhases>
__device__ __forceinline__ BarrierAddress barrier_of(BarrierAddress ring, int iteration) {
  return copy_of<kPhases>(ring, kBarrierBytes, iteration);
}
/// Until that iteration's event has happened.
template <int kPhases>
__device__ __forceinline__ void wait_for(BarrierAddress ring, int iteration) {
  const RingPosition<kPhases> at{static_cast<std::uint32_t>(iteration)};
  barrier_wait(ring + at.index() * kBarrierBytes, at.parity());
}

/// Starts a load of a tile of 16-bit elements, by one thread: [panel of 64 columns][row][64
/// columns] at `to`, told of on `full`, of which it is one arrival. Coordinates in rows and
/// columns.
__device__ __forceinline__ void load_tile(BarrierAddress full, std::uint32_t bytes,
                                          std::uint32_t to, const CUtensorMap* map, int row,
                                          int column, int batch) {
  barrier_expect(full, bytes);
  tma_load(to, map, row, column / 64, 0, batch, full);
}
/// The same of 8-bit elements: [panel of 128 columns][row][128 columns].
__device__ __forceinline__ void load_bytes(BarrierAddress full, std::uint32_t bytes,
                                           std::uint32_t to, const CUtensorMap* map, int row,
                                           int column, int batch) {
  barrier_expect(full, bytes);
  tma_load(to, map, row, column / 128, 0, batch, full);
}
/// The same of fp32 elements: [panel of 32 columns][row][32 columns].
__device__ __forceinline__ void load_floats(BarrierAddress full, std::uint32_t bytes,
                                            std::uint32_t to, const CUtensorMap* map, int row,
                                            int column, int batch) {
  barrier_expect(full, bytes);
  tma_load(to, map, row, column / 32, 0, batch, full);
}

/// The same of a vector of `bytes` contiguous bytes, which are a multiple of 16.
__device__ __forceinline__ void load_vector(BarrierAddress full, std::uint32_t bytes,
                                            std::uint32_t to, const float* from) {
  barrier_expect(full, bytes);
  bulk_load(to, from, bytes, full);
}

/// Is it the one thread that issues what a slot of warpgroups issues? Always the same; for whole
/// warps.
__device__ __forceinline__ bool leads(int group) {
  const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x % 128 / 32), 0);
  return group == 0 && warp == 0 && elect_one();
}

/// One arrival a warp, after products that the warp has waited for: the wait has its lanes
/// together.
__device__ __forceinline__ void release(BarrierAddress barrier) {
  if (threadIdx.x % 32 == 0) barrier_arrive(barrier);
}
/// One arrival a warp, after what its lanes have read and written themselves.
__device__ __forceinline__ void arrive(BarrierAddress barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) barrier_arrive(barrier);
}

}  // namespace twill::gpu
