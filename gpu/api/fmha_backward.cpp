// twill_fmha_backward: checks, tensor maps, the workspace, and the three launches.
#include <cstdint>
#include <string>

#include "gpu/api/backward_check.hpp"
#include "gpu/api/backward_plan.hpp"
#include "gpu/api/device.hpp"
#include "gpu/api/error.hpp"
#include "gpu/hopper/tensor_map.hpp"

namespace twill::gpu {

namespace {

BackwardLaunch launcher(const twill_fmha_backward_arguments& a) {
  const bool half = a.type == TWILL_GPU_F16;
  if (a.head_dim == 64) return half ? launch_backward_d64_f16 : launch_backward_d64_bf16;
  return half ? launch_backward_d128_f16 : launch_backward_d128_bf16;
}

void launch(const twill_fmha_backward_arguments& a, void* workspace, cudaStream_t stream) {
  multiprocessors();
  BackwardArguments g{};
  static_cast<BackwardWork&>(g) = backward_work(a);
  static_cast<BackwardSums&>(g) = backward_sums(a, workspace);
  const TensorShape queries{a.batch, a.query_length, a.query_heads, a.head_dim};
  const TensorShape keys{a.batch, a.key_length, a.key_heads, a.head_dim};
  const auto type = static_cast<twill_gpu_type>(a.type);  // checked
  const int panels = a.head_dim / kPanel;
  g.q = tensor_map(a.q, queries, type, g.rows, panels);
  g.d_o = tensor_map(a.d_o, queries, type, g.rows, panels);
  g.k = tensor_map(a.k, keys, type, kKeyRows, panels);
  g.v = tensor_map(a.v, keys, type, kKeyRows, panels);
  g.dk = tensor_map(a.dk, keys, type, kWarpgroupRows, panels);
  g.dv = tensor_map(a.dv, keys, type, kWarpgroupRows, panels);
  const double scale = softmax_scale(a.softmax_scale, a.head_dim);
  g.scale = static_cast<float>(scale);
  g.scale_log2 = static_cast<float>(scale * kLog2E);
  check_cuda(launch_backward_delta(delta_arguments(a, workspace), stream), "launching delta");
  check_cuda(launcher(a)(a.schedule, g, stream), "launching the kernel");
  check_cuda(launch_backward_convert(convert_arguments(a, workspace), stream), "launching dQ");
}

}  // namespace

}  // namespace twill::gpu

twill_gpu_status twill_fmha_backward_workspace(const twill_fmha_backward_arguments* arguments,
                                               size_t* bytes) {
  using namespace twill::gpu;
  return guarded([&] {
    check_backward_arguments(arguments, false);
    if (!bytes) refuse(TWILL_GPU_BAD_ARGUMENT, "bytes is null");
    *bytes = backward_space(*arguments).bytes;
  });
}

twill_gpu_status twill_fmha_backward(const twill_fmha_backward_arguments* arguments,
                                     void* workspace, size_t workspace_bytes, void* stream) {
  using namespace twill::gpu;
  return guarded([&] {
    check_backward_arguments(arguments, true);
    const std::size_t needed = backward_space(*arguments).bytes;
    if (!workspace) refuse(TWILL_GPU_BAD_WORKSPACE, "workspace is null");
    if (workspace_bytes < needed)
      refuse(TWILL_GPU_BAD_WORKSPACE, "workspace_bytes = " + std::to_string(workspace_bytes) +
                                          " is less than " + std::to_string(needed));
    if (reinterpret_cast<std::uintptr_t>(workspace) % 16 != 0)
      refuse(TWILL_GPU_BAD_ALIGNMENT, "workspace is not a multiple of 16 bytes");
    launch(*arguments, workspace, static_cast<cudaStream_t>(stream));
  });
}
