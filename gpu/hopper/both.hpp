// Functions that the host and the device share.
#pragma once

#ifdef __CUDACC__
#define TWILL_GPU_BOTH __host__ __device__ __forceinline__
#else
#define TWILL_GPU_BOTH inline
#endif

namespace twill::gpu {

/// A shared address rounded up to 1024 bytes, the period of the 128-byte swizzle: how a kernel
/// begins its dynamic shared memory, of which it is only known that it is a multiple of 16.
TWILL_GPU_BOTH constexpr unsigned aligned_1024(unsigned address) {
  return (address + 1023u) & ~1023u;
}
TWILL_GPU_BOTH int smaller(int a, int b) {
  return a < b ? a : b;
}

}  // namespace twill::gpu
