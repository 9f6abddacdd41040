// Attention backward, head dimension 64, f16: all schedules.
#include "gpu/hopper/backward/fmha_backward.cuh"

cudaError_t twill::gpu::launch_backward_d64_f16(int schedule, const BackwardArguments& arguments,
                                                cudaStream_t stream) {
  return launch_backward<Element::f16, 64>(schedule, arguments, stream);
}
