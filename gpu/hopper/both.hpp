// Functions that the host and the device share.
#pragma once

#ifdef __CUDACC__
#define TWILL_GPU_BOTH __host__ __device__ __forceinline__
#else
#define TWILL_GPU_BOTH inline
#endif

namespace twill::gpu {

TWILL_GPU_BOTH int smaller(int a, int b) {
  return a < b ? a : b;
}

}  // namespace twill::gpu
