// What the host passes to the Hopper forward kernel.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "gpu/hopper/forward/work.hpp"

namespace twill::gpu {

struct ForwardArguments : ForwardWork {
  CUtensorMap q, k, v, o;
  float* lse;        ///< [batch][query head][query row], natural logarithm; may be null
  float scale_log2;  ///< softmax scale * log2(e), > 0
};

/// Launches the kernel of one schedule (index of kForwardSchedules) on `grid` blocks. One function
/// a file of gpu/hopper, so that the files compile in parallel.
using ForwardLaunch = cudaError_t (*)(int schedule, const ForwardArguments&, int grid,
                                      cudaStream_t stream);

cudaError_t launch_forward_d64_f16(int, const ForwardArguments&, int, cudaStream_t);
cudaError_t launch_forward_d64_bf16(int, const ForwardArguments&, int, cudaStream_t);
cudaError_t launch_forward_d128_f16(int, const ForwardArguments&, int, cudaStream_t);
cudaError_t launch_forward_d128_bf16(int, const ForwardArguments&, int, cudaStream_t);
cudaError_t launch_forward_d256_f16(int, const ForwardArguments&, int, cudaStream_t);
cudaError_t launch_forward_d256_bf16(int, const ForwardArguments&, int, cudaStream_t);

}  // namespace twill::gpu
