// Attention forward, head dimension 64, bf16: all schedules.
#include "gpu/hopper/forward/fmha_forward.cuh"

cudaError_t twill::gpu::launch_forward_d64_bf16(int schedule, const ForwardArguments& arguments,
                                                int grid, cudaStream_t stream) {
  return launch_forward<Element::bf16, 64>(schedule, arguments, grid, stream);
}
