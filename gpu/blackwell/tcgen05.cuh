// The fifth generation of tensor cores (tcgen05, PTX ISA 9.0) in inline PTX, one block alone
// (cta_group::1). Beside gpu/hopper/ptx.cuh, whose barriers and TMA are the same here.
//
// Tensor memory has 128 lanes of 512 columns of 32 bits. An address has the lane in its upper half
// and the column in its lower. Warp w of the block reaches lanes 32 (w mod 4) and on alone.
#pragma once

#include "gpu/blackwell/descriptor.hpp"

#ifdef TWILL_GPU_EMULATED
#include "gpu/emulator/blackwell.hpp"
#else

#include <cstdint>

#include "gpu/hopper/ptx.cuh"

namespace twill::gpu {

using TensorAddress = std::uint32_t;

// --- Allocation: by all lanes of a warp; the same warp gives back
// -----------------------------------

/// `columns`: a power of two from 32 to 512. Waits until they are free, and writes the address to
/// shared memory.
__device__ __forceinline__ void tensor_allocate(std::uint32_t to, std::uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(to),
               "r"(columns)
               : "memory");
}
/// This block allocates no more.
__device__ __forceinline__ void tensor_relinquish() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void tensor_free(TensorAddress at, std::uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(at), "r"(columns)
               : "memory");
}

// --- Order
// ------------------------------------------------------------------------------------------

/// Between this thread's accesses that have ended and the arrival that tells of them.
__device__ __forceinline__ void tensor_fence_before() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
/// Between a wait and this thread's accesses that it allows.
__device__ __forceinline__ void tensor_fence_after() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
/// Until the warp's loads have written their registers; all lanes.
__device__ __forceinline__ void tensor_wait_loads() {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}
/// Until the warp's stores have taken effect; all lanes.
__device__ __forceinline__ void tensor_wait_stores() {
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}
/// One arrival on the barrier when all products that this thread has issued have ended.
__device__ __forceinline__ void tensor_commit(BarrierAddress barrier) {
  asm volatile(
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
      : "memory");
}

// --- Products: by one thread, asynchronous; of one thread in their order
// ----------------------------

/// D += A B, or D = A B where accumulate = 0: 16 deep; `how`: instruction_descriptor().
__device__ __forceinline__ void tensor_multiply(TensorAddress d, std::uint64_t a, std::uint64_t b,
                                                std::uint32_t how, std::uint32_t accumulate) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"
      "  tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(d),
      "l"(a), "l"(b), "r"(how), "r"(accumulate)
      : "memory");
}
/// A in tensor memory: a row a lane, two elements a column.
__device__ __forceinline__ void tensor_multiply_lanes(TensorAddress d, TensorAddress a,
                                                      std::uint64_t b, std::uint32_t how,
                                                      std::uint32_t accumulate) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"
      "  tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p; }" ::"r"(d),
      "r"(a), "l"(b), "r"(how), "r"(accumulate)
      : "memory");
}

// --- Loads and stores: all lanes of a warp, asynchronous until the waits
// ----------------------------

// tcgen05.ld.32x32b and tcgen05.st.32x32b: the thread's lane of kCount columns from `at` on, whose
// lane is the warp's first (32 (w mod 4) << 16).

template <int kCount>
struct TensorColumns;

// tcgen05.ld.16x256b: of the first half of the warp's lanes 2 kCount columns from `at` on. The
// thread gets of lanes t / 4 and t / 4 + 8 the columns 8 j + 2 (t % 4) and the next: d[4 j], d[4 j
// + 1], and d[4 j + 2], d[4 j + 3].

template <int kCount>
struct HalfLanes;

// clang-format off
#define TWILL_R1(o, i) o(i)
#define TWILL_R2(o, i) o(i), o(i + 1)
#define TWILL_R4(o, i) TWILL_R2(o, i), TWILL_R2(o, i + 2)
#define TWILL_R8(o, i) TWILL_R4(o, i), TWILL_R4(o, i + 4)
#define TWILL_R16(o, i) TWILL_R8(o, i), TWILL_R8(o, i + 8)
#define TWILL_R32(o, i) TWILL_R16(o, i), TWILL_R16(o, i + 16)
#define TWILL_LOADED(i) "=f"(d[i])
#define TWILL_STORED(i) "f"(d[i])
#define TWILL_PACKED(i) "r"(d[i])
#define TWILL_N8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define TWILL_N16 TWILL_N8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define TWILL_N32 TWILL_N16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
    "%29, %30, %31"
#define TWILL_TENSOR_LOAD(SHAPE, NAMES, AFTER, LIST)                                               \
  static __device__ __forceinline__ void load(float* d, TensorAddress at) {                        \
    asm volatile("tcgen05.ld.sync.aligned." SHAPE ".b32 {" NAMES "}, [" AFTER "];"                 \
                 : LIST(TWILL_LOADED, 0) : "r"(at) : "memory");                                    \
  }
#define TWILL_COLUMNS(N, NAMES, AFTER, LIST)                                                       \
  template <>                                                                                      \
  struct TensorColumns<N> {                                                                        \
    TWILL_TENSOR_LOAD("32x32b.x" #N, NAMES, AFTER, LIST)                                           \
    static __device__ __forceinline__ void store(TensorAddress at, const float* d) {               \
      asm volatile("tcgen05.st.sync.aligned.32x32b.x" #N ".b32 [" AFTER "], {" NAMES "};"           \
                   :: LIST(TWILL_STORED, 0), "r"(at) : "memory");                                  \
    }                                                                                              \
    static __device__ __forceinline__ void store(TensorAddress at, const std::uint32_t* d) {       \
      asm volatile("tcgen05.st.sync.aligned.32x32b.x" #N ".b32 [" AFTER "], {" NAMES "};"           \
                   :: LIST(TWILL_PACKED, 0), "r"(at) : "memory");                                  \
    }                                                                                              \
  };
TWILL_COLUMNS(1, "%0", "%1", TWILL_R1)
TWILL_COLUMNS(2, "%0, %1", "%2", TWILL_R2)
TWILL_COLUMNS(4, "%0, %1, %2, %3", "%4", TWILL_R4)
TWILL_COLUMNS(8, TWILL_N8, "%8", TWILL_R8)
TWILL_COLUMNS(16, TWILL_N16, "%16", TWILL_R16)
TWILL_COLUMNS(32, TWILL_N32, "%32", TWILL_R32)
#define TWILL_HALF_LANES(N, TIMES, NAMES, AFTER, LIST)                                              \
  template <>                                                                                      \
  struct HalfLanes<N> {                                                                            \
    TWILL_TENSOR_LOAD("16x256b.x" #TIMES, NAMES, AFTER, LIST)                                      \
  };
TWILL_HALF_LANES(8, 2, TWILL_N8, "%8", TWILL_R8)
TWILL_HALF_LANES(16, 4, TWILL_N16, "%16", TWILL_R16)
TWILL_HALF_LANES(32, 8, TWILL_N32, "%32", TWILL_R32)
#undef TWILL_HALF_LANES
#undef TWILL_COLUMNS
#undef TWILL_TENSOR_LOAD
#undef TWILL_N32
#undef TWILL_N16
#undef TWILL_N8
#undef TWILL_PACKED
#undef TWILL_STORED
#undef TWILL_LOADED
#undef TWILL_R32
#undef TWILL_R16
#undef TWILL_R8
#undef TWILL_R4
#undef TWILL_R2
#undef TWILL_R1
// clang-format on

}  // namespace twill::gpu

#endif
