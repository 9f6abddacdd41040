// The instructions of sm_90a that the kernels use: libcu++'s cuda::ptx where it has a wrapper that
// costs nothing, inline PTX where it has none or takes shared memory by generic pointer (warpgroup
// MMA is in wgmma.cuh). Names follow the PTX ISA.
#pragma once

#include <cuda.h>
#include <cuda/ptx>

#include <cstdint>

namespace twill::gpu {

namespace ptx = cuda::ptx;

/// The 32-bit address of an object in shared memory.
__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Dynamic shared memory rounded up to 1024 bytes, the period of the 128-byte swizzle.
__device__ __forceinline__ std::uint32_t aligned_shared_1024(const void* raw) {
  return (shared_address(raw) + 1023u) & ~1023u;
}

// --- mbarriers: by 32-bit shared address. A consumer lives at the limit of its registers, and the
// wrappers' generic pointers take two each.
// ------------------------------------------------------------

using BarrierAddress = std::uint32_t;

__device__ __forceinline__ void barrier_init(BarrierAddress barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes inits visible to the async proxy and to the cluster.
__device__ __forceinline__ void barrier_init_fence() {
  ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
}
__device__ __forceinline__ void barrier_arrive(BarrierAddress barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// On the barrier at the same address in another block of the cluster.
__device__ __forceinline__ void barrier_arrive_remote(BarrierAddress barrier, std::uint32_t rank) {
  asm volatile(
      "{ .reg .b32 remote;\n"
      "  mapa.shared::cluster.u32 remote, %0, %1;\n"
      "  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
/// One arrival, and `bytes` more to come through TMA, before the phase ends.
__device__ __forceinline__ void barrier_expect(BarrierAddress barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}
/// Has the phase of this parity ended? Waits a while for it.
__device__ __forceinline__ bool barrier_try_wait(BarrierAddress barrier, std::uint32_t parity) {
  std::uint32_t ended;
  asm volatile(
      "{ .reg .pred p;\n"
      "  mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
      "  selp.u32 %0, 1, 0, p; }"
      : "=r"(ended)
      : "r"(barrier), "r"(parity)
      : "memory");
  return ended != 0;
}
/// The same, with the arrivals of other blocks of the cluster acquired.
__device__ __forceinline__ bool barrier_try_wait_cluster(BarrierAddress barrier,
                                                         std::uint32_t parity) {
  std::uint32_t ended;
  asm volatile(
      "{ .reg .pred p;\n"
      "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
      "  selp.u32 %0, 1, 0, p; }"
      : "=r"(ended)
      : "r"(barrier), "r"(parity)
      : "memory");
  return ended != 0;
}
/// A build with TWILL_GPU_SPIN_LIMIT traps instead of hanging.
template <bool kCluster = false>
__device__ __forceinline__ void barrier_wait(BarrierAddress barrier, std::uint32_t parity) {
#ifdef TWILL_GPU_SPIN_LIMIT
  long spins = 0;
#endif
  while (
      !(kCluster ? barrier_try_wait_cluster(barrier, parity) : barrier_try_wait(barrier, parity))) {
#ifdef TWILL_GPU_SPIN_LIMIT
    if (++spins > TWILL_GPU_SPIN_LIMIT) __trap();
#endif
  }
}

// --- Named barriers: `threads` counts all that sync or arrive
// ---------------------------------------

__device__ __forceinline__ void named_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// --- Clusters
// ---------------------------------------------------------------------------------------

__device__ __forceinline__ void cluster_sync() {
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}

// --- Warps
// ------------------------------------------------------------------------------------------

/// One lane of a converged warp.
__device__ __forceinline__ bool elect_one() {
  std::uint32_t elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
               : "=r"(elected));
  return elected != 0;
}
/// All four warps of a warpgroup execute these, and the sum over the block must fit the file.
template <int kRegisters>
__device__ __forceinline__ void raise_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void lower_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// --- TMA: tensors are (64 elements, sequence, panel, head, batch), see tensor_map.hpp
// ---------------

__device__ __forceinline__ void tma_load(std::uint32_t to, const CUtensorMap* map, int row,
                                         int panel, int head, int batch, BarrierAddress barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(panel), "r"(head), "r"(batch)
      : "memory");
}
/// To the same address in every block of `blocks`, signalling the same barrier of each.
__device__ __forceinline__ void tma_load_multicast(std::uint32_t to, const CUtensorMap* map,
                                                   int row, int panel, int head, int batch,
                                                   BarrierAddress barrier, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(panel), "r"(head), "r"(batch), "h"(blocks)
      : "memory");
}
/// Stores and waits until the source may be written again; by one thread, which did no other bulk
/// copies (bulk groups are a thread's own).
__device__ __forceinline__ void tma_store(const CUtensorMap* map, std::uint32_t from, int row,
                                          int panel, int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group"
      " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
      "r"(from), "r"(0), "r"(row), "r"(panel), "r"(head), "r"(batch)
      : "memory");
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
}
/// Ordinary writes to shared memory, before a barrier after which TMA or wgmma reads them.
__device__ __forceinline__ void fence_async_shared() {
  ptx::fence_proxy_async(ptx::space_shared);
}

// --- Arithmetic
// -------------------------------------------------------------------------------------

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Four 8x8 tiles of 16-bit elements, one address a lane.
__device__ __forceinline__ void store_matrix_x4(std::uint32_t address, std::uint32_t a,
                                                std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

}  // namespace twill::gpu
