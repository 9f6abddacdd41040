// Attention backward, head dimension 128, f16: all schedules.
#include "gpu/hopper/backward/fmha_backward.cuh"

cudaError_t twill::gpu::launch_backward_d128_f16(int schedule, const BackwardArguments& arguments,
                                                 cudaStream_t stream) {
  return launch_backward<Element::f16, 128>(schedule, arguments, stream);
}
