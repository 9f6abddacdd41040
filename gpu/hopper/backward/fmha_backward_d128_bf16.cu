// Attention backward, head dimension 128, bf16: all schedules.
#include "gpu/hopper/backward/fmha_backward.cuh"

cudaError_t twill::gpu::launch_backward_d128_bf16(int schedule, const BackwardArguments& arguments,
                                                  cudaStream_t stream) {
  return launch_backward<Element::bf16, 128>(schedule, arguments, stream);
}
