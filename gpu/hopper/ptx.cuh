// The instructions of sm_90a that the kernels use: libcu++'s cuda::ptx where it has a wrapper,
// inline PTX where it has none (warpgroup MMA is in wgmma.cuh). Names follow the PTX ISA.
#pragma once

#ifdef TWILL_GPU_EMULATED
#include "gpu/emulator/hopper.hpp"
#else

#include <cuda.h>
#include <cuda/ptx>

#include <cstdint>

#include "gpu/hopper/both.hpp"

namespace twill::gpu {

namespace ptx = cuda::ptx;

/// The 32-bit address of an object in shared memory.
__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Where the tiles in dynamic shared memory begin.
__device__ __forceinline__ std::uint32_t aligned_shared_1024(const void* raw) {
  return aligned_1024(shared_address(raw));
}

// --- mbarriers. The kernels name them, and all of shared memory, by 32-bit shared addresses. The
// wrappers take generic pointers and convert them back, which ptxas does not always fold: what a
// consumer at the limit of its registers does at every step, to wait and to arrive, is inline PTX.
// (Through the wrappers Twill-SWP spills 8 bytes with head dimension 256.)
// ----------------------------------------------------------------------------------

using BarrierAddress = std::uint32_t;

__device__ __forceinline__ void* shared_pointer(std::uint32_t address) {
  return __cvta_shared_to_generic(address);
}
__device__ __forceinline__ std::uint64_t* barrier_pointer(BarrierAddress barrier) {
  return static_cast<std::uint64_t*>(shared_pointer(barrier));
}

__device__ __forceinline__ void barrier_init(BarrierAddress barrier, std::uint32_t arrivals) {
  ptx::mbarrier_init(barrier_pointer(barrier), arrivals);
}
/// Makes inits visible to the async proxy and to the cluster.
__device__ __forceinline__ void barrier_init_fence() {
  ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
}
__device__ __forceinline__ void barrier_arrive(BarrierAddress barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// On the barrier at the same address in another block of the cluster. It hands over memory that
/// this block has only read, by products that have completed (wgmma.wait_group): nothing written
/// has to become visible to the other block, whose next TMA overwrites it. So the instruction's
/// default, release in the scope of the block, is enough, as in CUTLASS's ClusterBarrier. With
/// .release.cluster it is MEMBAR.ALL.GPU, which waits for all of the thread's memory operations.
/// After ordinary writes it would not be enough; the emulator refuses that.
__device__ __forceinline__ void barrier_arrive_remote(BarrierAddress barrier, std::uint32_t rank) {
  asm volatile(
      "{ .reg .b32 remote;\n"
      "  mapa.shared::cluster.u32 remote, %0, %1;\n"
      "  mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
/// The same two, only where `arrives`: predicated, so that ptxas need not branch around them and
/// join the lanes again, which takes tens of clocks between a product and what waits for it.
__device__ __forceinline__ void barrier_arrive_if(bool arrives, BarrierAddress barrier) {
  asm volatile(
      "{ .reg .pred p;\n"
      "  setp.ne.u32 p, %1, 0;\n"
      "  @p mbarrier.arrive.release.cta.shared::cta.b64 _, [%0]; }" ::"r"(barrier),
      "r"(static_cast<std::uint32_t>(arrives))
      : "memory");
}
__device__ __forceinline__ void barrier_arrive_remote_if(bool arrives, BarrierAddress barrier,
                                                         std::uint32_t rank) {
  asm volatile(
      "{ .reg .pred p;\n"
      "  .reg .b32 remote;\n"
      "  setp.ne.u32 p, %2, 0;\n"
      "  mapa.shared::cluster.u32 remote, %0, %1;\n"
      "  @p mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(barrier),
      "r"(rank), "r"(static_cast<std::uint32_t>(arrives))
      : "memory");
}
/// One arrival, and `bytes` more to come through TMA, before the phase ends.
__device__ __forceinline__ void barrier_expect(BarrierAddress barrier, std::uint32_t bytes) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                 barrier_pointer(barrier), bytes);
}
/// Has the phase of this parity ended? Waits a while for it. Arrivals of other blocks need no wider
/// scope here: they hand over what was only read (barrier_arrive_remote). With .acquire.cluster it
/// would also be CCTL.IVALL, which empties the L1 cache at every wait.
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
/// A build with TWILL_GPU_SPIN_LIMIT traps instead of hanging.
__device__ __forceinline__ void barrier_wait(BarrierAddress barrier, std::uint32_t parity) {
#ifdef TWILL_GPU_SPIN_LIMIT
  long spins = 0;
#endif
  while (!barrier_try_wait(barrier, parity)) {
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

/// Starts a load of a box into shared memory, signalled on `barrier`.
__device__ __forceinline__ void tma_load(std::uint32_t to, const CUtensorMap* map, int row,
                                         int panel, int head, int batch, BarrierAddress barrier) {
  const std::int32_t at[5] = {0, row, panel, head, batch};
  ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, shared_pointer(to), map, at,
                            barrier_pointer(barrier));
}
/// To the same address in every block of `blocks`, signalling the same barrier of each.
__device__ __forceinline__ void tma_load_multicast(std::uint32_t to, const CUtensorMap* map,
                                                   int row, int panel, int head, int batch,
                                                   BarrierAddress barrier, std::uint16_t blocks) {
  const std::int32_t at[5] = {0, row, panel, head, batch};
  ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, shared_pointer(to), map, at,
                            barrier_pointer(barrier), blocks);
}
/// Starts a store of a box; by one thread, which also waits (bulk groups are a thread's own).
__device__ __forceinline__ void tma_store_start(const CUtensorMap* map, std::uint32_t from, int row,
                                                int panel, int head, int batch) {
  const std::int32_t at[5] = {0, row, panel, head, batch};
  ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, map, at, shared_pointer(from));
  ptx::cp_async_bulk_commit_group();
}
/// The same adds fp32 values to those that are there; a panel has 32 columns.
__device__ __forceinline__ void tma_add_start(const CUtensorMap* map, std::uint32_t from, int row,
                                              int panel, int head, int batch) {
  const std::int32_t at[5] = {0, row, panel, head, batch};
  ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, map, at,
                                   shared_pointer(from));
  ptx::cp_async_bulk_commit_group();
}
/// Until the sources of all but this thread's newest kPending bulk groups may be written again.
template <int kPending = 0>
__device__ __forceinline__ void bulk_wait_read() {
  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<kPending>{});
}
/// Starts a copy of `bytes` contiguous bytes into shared memory, signalled on `barrier`. Addresses
/// and size are multiples of 16 bytes.
__device__ __forceinline__ void bulk_load(std::uint32_t to, const void* from, std::uint32_t bytes,
                                          BarrierAddress barrier) {
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, shared_pointer(to), from, bytes,
                     barrier_pointer(barrier));
}
/// Starts adding fp32 values in shared memory to as many in global memory; by the thread that
/// waits.
__device__ __forceinline__ void bulk_add(float* to, std::uint32_t from, std::uint32_t bytes) {
  ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, to,
                            static_cast<const float*>(shared_pointer(from)), bytes);
  ptx::cp_async_bulk_commit_group();
}
/// Until all bulk groups of this thread have taken effect in global memory.
__device__ __forceinline__ void bulk_wait_done() {
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
}

// --- Global memory: counters between blocks
// ---------------------------------------------------------

/// What TMA wrote before counts as written; what TMA reads and adds after sees it.
__device__ __forceinline__ void fence_async_global() {
  ptx::fence_proxy_async(ptx::space_global);
}
__device__ __forceinline__ unsigned load_acquire(const unsigned* counter) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}
/// Between two looks at a counter.
__device__ __forceinline__ void back_off() {
  __nanosleep(64);
}
__device__ __forceinline__ void add_release(unsigned* counter, unsigned value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}
__device__ __forceinline__ unsigned fetch_add(unsigned* counter, unsigned value) {
  return atomicAdd(counter, value);
}

/// Ordinary writes to shared memory, before a barrier after which TMA or wgmma reads them.
__device__ __forceinline__ void fence_async_shared() {
  ptx::fence_proxy_async(ptx::space_shared);
}

/// The value, computed where it is used: kept over a loop, it would take a register there.
template <class T>
__device__ __forceinline__ T fresh(T x) {
  asm volatile("" : "+r"(x));
  return x;
}

// --- Arithmetic
// -------------------------------------------------------------------------------------

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ std::uint32_t load_shared(std::uint32_t address) {
  std::uint32_t x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
  return x;
}
/// Loads and forgets; ptxas keeps it, and in its place among barriers and waits. What the address
/// is computed from is there before.
__device__ __forceinline__ void touch_shared(std::uint32_t address) {
  asm volatile("{ .reg .b32 x; ld.volatile.shared.u32 x, [%0]; }" ::"r"(address) : "memory");
}
__device__ __forceinline__ void store_shared(std::uint32_t address, std::uint32_t x) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}
__device__ __forceinline__ float2 load_shared_2(std::uint32_t address) {
  float2 x;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(address) : "memory");
  return x;
}
__device__ __forceinline__ float4 load_shared_4(std::uint32_t address) {
  float4 x;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "r"(address)
               : "memory");
  return x;
}
__device__ __forceinline__ void store_shared_2(std::uint32_t address, float a, float b) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(a), "f"(b) : "memory");
}
__device__ __forceinline__ void store_shared_4(std::uint32_t address, float a, float b, float c,
                                               float d) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(a), "f"(b), "f"(c),
               "f"(d)
               : "memory");
}

/// Four 8x8 tiles of 16-bit elements, one address a lane.
__device__ __forceinline__ void store_matrix_x4(std::uint32_t address, std::uint32_t a,
                                                std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

/// The other way, ldmatrix.
__device__ __forceinline__ void load_matrix_x4(std::uint32_t address, std::uint32_t& a,
                                               std::uint32_t& b, std::uint32_t& c,
                                               std::uint32_t& d) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(address)
               : "memory");
}

/// store_matrix_x4(), each tile transposed.
__device__ __forceinline__ void store_matrix_x4_transposed(std::uint32_t address, std::uint32_t a,
                                                           std::uint32_t b, std::uint32_t c,
                                                           std::uint32_t d) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(a), "r"(b), "r"(c), "r"(d)
      : "memory");
}

}  // namespace twill::gpu

#endif
