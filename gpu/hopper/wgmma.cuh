// Warpgroup matrix multiply-accumulate (wgmma, PTX ISA): D[64 x N] += A[64 x 16] B[16 x N], 16-bit
// operands (of 8 bits A[64 x 32] B[32 x N]), fp32 accumulators, asynchronous. A comes from shared
// memory or registers, B from shared memory; both through descriptors of 128-byte swizzled tiles.
//
// Accumulator layout: thread t of the warpgroup holds of rows 16 * (t / 32) + (t % 32) / 4 + 8 * h,
// columns 8 * j + 2 * (t % 4) + e, the value d[4 * j + 2 * h + e]. Packed in pairs this is also the
// layout of A in registers for the next multiplication.
#pragma once

#include "gpu/hopper/descriptor.hpp"

#ifdef TWILL_GPU_EMULATED
#include "gpu/emulator/hopper.hpp"
#else

#include <cstdint>

#include "gpu/hopper/element.hpp"

namespace twill::gpu {

/// Before the first multiplication after registers of D or A, or shared memory, were written.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// Closes the group of all multiplications since the last commit.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Until at most kPending groups are in flight.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// Registers that an asynchronous multiplication owns: the compiler's front end (nvvm) moves no use
/// across this point. It is no instruction, so ptxas does not see it: what binds ptxas is that the
/// registers are operands of wgmma and that a wait lies between, and for loads a barrier.
template <int kCount>
__device__ __forceinline__ void pin(float (&r)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(r[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void pin(std::uint32_t (&r)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(r[i])::"memory");
}

/// Forgets the contents, so that registers that a multiplication from zero will write need not be
/// kept for it before. No instruction.
template <int kCount>
__device__ __forceinline__ void forget(float (&r)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "=f"(r[i]));
}

/// wgmma.m64nNk16. ss: A and B in shared memory; rs: A in registers. kTransA, kTransB: 1 where the
/// operand is MN-major. accumulate = 0 starts from zero.
template <Element kElement, int kN>
struct Wgmma;

// clang-format off
#define TWILL_OUT8(i) "+f"(d[i + 0]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), \
    "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define TWILL_OUT4(i) "+f"(d[i + 0]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TWILL_OUT16(i) TWILL_OUT8(i), TWILL_OUT8(i + 8)
#define TWILL_OUT32(i) TWILL_OUT16(i), TWILL_OUT16(i + 16)
#define TWILL_D16 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define TWILL_D20 TWILL_D16 ", %16, %17, %18, %19"
#define TWILL_D32 TWILL_D20 \
  ", %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TWILL_D40 TWILL_D32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define TWILL_D64 TWILL_D40 \
  ", %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TWILL_D128 TWILL_D64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define TWILL_WGMMA(ELEMENT, TYPE, N, D, A, B, P, TA, TB, RA, RB, RP, RTB, ...)                 \
  template <>                                                                                     \
  struct Wgmma<Element::ELEMENT, N> {                                                              \
    template <int kTransA, int kTransB>                                                            \
    static __device__ __forceinline__ void ss(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, \
                                              int accumulate) {                                    \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, " P ", 0;\n" \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" D "}, " A \
                   ", " B ", p, 1, 1, " TA ", " TB "; }" \
                   : __VA_ARGS__                                                                   \
                   : "l"(a), "l"(b), "r"(accumulate), "n"(kTransA), "n"(kTransB));                 \
    }                                                                                              \
    template <int kTransB>                                                                         \
    static __device__ __forceinline__ void rs(float (&d)[N / 2], const std::uint32_t* a, \
                                              std::uint64_t b, int accumulate) {                   \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, " RP ", 0;\n" \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" D "}, {" RA \
                   "}, " RB ", p, 1, 1, " RTB "; }" \
                   : __VA_ARGS__                                                                   \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate),          \
                     "n"(kTransB));                                                                \
    }                                                                                              \
  };
TWILL_WGMMA(f16, "f16", 32, TWILL_D16, "%16", "%17", "%18", "%19", "%20",
    "%16, %17, %18, %19", "%20", "%21", "%22", TWILL_OUT16(0))
TWILL_WGMMA(bf16, "bf16", 32, TWILL_D16, "%16", "%17", "%18", "%19", "%20",
    "%16, %17, %18, %19", "%20", "%21", "%22", TWILL_OUT16(0))
TWILL_WGMMA(f16, "f16", 40, TWILL_D20, "%20", "%21", "%22", "%23", "%24",
    "%20, %21, %22, %23", "%24", "%25", "%26", TWILL_OUT16(0), TWILL_OUT4(16))
TWILL_WGMMA(bf16, "bf16", 40, TWILL_D20, "%20", "%21", "%22", "%23", "%24",
    "%20, %21, %22, %23", "%24", "%25", "%26", TWILL_OUT16(0), TWILL_OUT4(16))
TWILL_WGMMA(f16, "f16", 64, TWILL_D32, "%32", "%33", "%34", "%35", "%36",
    "%32, %33, %34, %35", "%36", "%37", "%38", TWILL_OUT32(0))
TWILL_WGMMA(bf16, "bf16", 64, TWILL_D32, "%32", "%33", "%34", "%35", "%36",
    "%32, %33, %34, %35", "%36", "%37", "%38", TWILL_OUT32(0))
TWILL_WGMMA(f16, "f16", 80, TWILL_D40, "%40", "%41", "%42", "%43", "%44",
    "%40, %41, %42, %43", "%44", "%45", "%46", TWILL_OUT32(0), TWILL_OUT8(32))
TWILL_WGMMA(bf16, "bf16", 80, TWILL_D40, "%40", "%41", "%42", "%43", "%44",
    "%40, %41, %42, %43", "%44", "%45", "%46", TWILL_OUT32(0), TWILL_OUT8(32))
TWILL_WGMMA(f16, "f16", 128, TWILL_D64, "%64", "%65", "%66", "%67", "%68",
    "%64, %65, %66, %67", "%68", "%69", "%70", TWILL_OUT32(0), TWILL_OUT32(32))
TWILL_WGMMA(bf16, "bf16", 128, TWILL_D64, "%64", "%65", "%66", "%67", "%68",
    "%64, %65, %66, %67", "%68", "%69", "%70", TWILL_OUT32(0), TWILL_OUT32(32))
TWILL_WGMMA(f16, "f16", 256, TWILL_D128, "%128", "%129", "%130", "%131", "%132",
    "%128, %129, %130, %131", "%132", "%133", "%134", TWILL_OUT32(0), TWILL_OUT32(32),
    TWILL_OUT32(64), TWILL_OUT32(96))
TWILL_WGMMA(bf16, "bf16", 256, TWILL_D128, "%128", "%129", "%130", "%131", "%132",
    "%128, %129, %130, %131", "%132", "%133", "%134", TWILL_OUT32(0), TWILL_OUT32(32),
    TWILL_OUT32(64), TWILL_OUT32(96))
// k32 of 8-bit elements, e4m3, both operands K-major: the instruction has no transposed ones.
#define TWILL_WGMMA8(N, D, A, B, P, ...)                                                            \
  template <>                                                                                      \
  struct Wgmma<Element::f8, N> {                                                                   \
    template <int kTransA, int kTransB>                                                            \
    static __device__ __forceinline__ void ss(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, \
                                              int accumulate) {                                    \
      static_assert(kTransA == 0 && kTransB == 0);                                                 \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, " P ", 0;\n" \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32.e4m3.e4m3 {" D "}, " A \
                   ", " B ", p, 1, 1; }" \
                   : __VA_ARGS__                                                                   \
                   : "l"(a), "l"(b), "r"(accumulate));                                             \
    }                                                                                              \
  };
TWILL_WGMMA8(64, TWILL_D32, "%32", "%33", "%34", TWILL_OUT32(0))
TWILL_WGMMA8(128, TWILL_D64, "%64", "%65", "%66", TWILL_OUT32(0), TWILL_OUT32(32))
TWILL_WGMMA8(256, TWILL_D128, "%128", "%129", "%130", TWILL_OUT32(0), TWILL_OUT32(32),
    TWILL_OUT32(64), TWILL_OUT32(96))
#undef TWILL_WGMMA8
#undef TWILL_WGMMA
#undef TWILL_D128
#undef TWILL_D64
#undef TWILL_D40
#undef TWILL_D32
#undef TWILL_D20
#undef TWILL_D16
#undef TWILL_OUT32
#undef TWILL_OUT16
#undef TWILL_OUT4
#undef TWILL_OUT8
// clang-format on

/// Two 16-bit elements of a word.
template <Element kElement>
__device__ __forceinline__ float2 unpack(std::uint32_t word) {
  if constexpr (kElement == Element::bf16)
    return {__uint_as_float(word << 16), __uint_as_float(word & 0xFFFF0000u)};
  float2 x;
  asm("{ .reg .f16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; }"
      : "=f"(x.x), "=f"(x.y)
      : "r"(word));
  return x;
}
/// Two fp32 to a register of two 16-bit elements, the first in the low half.
template <Element kElement>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  std::uint32_t r;
  if constexpr (kElement == Element::f16)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

}  // namespace twill::gpu

#endif
