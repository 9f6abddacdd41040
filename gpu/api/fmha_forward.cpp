// twill_fmha_forward: checks, tensor maps, the order of tiles, and the launch.
#include <algorithm>
#include <cstdint>

#include "gpu/api/device.hpp"
#include "gpu/api/error.hpp"
#include "gpu/api/forward_check.hpp"
#include "gpu/api/forward_plan.hpp"
#include "gpu/hopper/forward/arguments.hpp"
#include "gpu/hopper/forward/tile.hpp"
#include "gpu/hopper/tensor_map.hpp"

namespace twill::gpu {

namespace {

ForwardLaunch launcher(const twill_fmha_forward_arguments& a) {
  const bool half = a.type == TWILL_GPU_F16;
  switch (a.head_dim) {
    case 64: return half ? launch_forward_d64_f16 : launch_forward_d64_bf16;
    case 128: return half ? launch_forward_d128_f16 : launch_forward_d128_bf16;
    default: return half ? launch_forward_d256_f16 : launch_forward_d256_bf16;
  }
}

void launch(const twill_fmha_forward_arguments& a, cudaStream_t stream) {
  const int processors = multiprocessors();
  const ForwardTile tile = forward_tile(a.head_dim);
  ForwardArguments g{};
  static_cast<ForwardWork&>(g) = forward_work(a);
  const int kv_panels = tile.panels / g.blocks;
  const TensorShape queries{a.batch, a.query_length, a.query_heads, a.head_dim};
  const TensorShape keys{a.batch, a.key_length, a.key_heads, a.head_dim};
  const auto type = static_cast<twill_gpu_type>(a.type);  // checked
  g.q = tensor_map(a.q, queries, type, kWarpgroupRows, tile.panels);
  g.k = tensor_map(a.k, keys, type, tile.keys, kv_panels);
  g.v = tensor_map(a.v, keys, type, tile.keys, kv_panels);
  g.o = tensor_map(a.o, queries, type, kWarpgroupRows, tile.panels);
  g.lse = a.lse;
  g.scale_log2 = static_cast<float>(softmax_scale(a.softmax_scale, a.head_dim) * kLog2E);
  const int clusters = forward_clusters(g, processors);
  balance(g, tile.keys, clusters);
  const int grid = clusters * g.blocks;
  check_cuda(launcher(a)(a.schedule, g, grid, stream), "launching the kernel");
}

}  // namespace

}  // namespace twill::gpu

twill_gpu_status twill_fmha_forward_workspace(const twill_fmha_forward_arguments* arguments,
                                              size_t* bytes) {
  using namespace twill::gpu;
  return guarded([&] {
    check_forward_arguments(arguments, false);
    if (!bytes) refuse(TWILL_GPU_BAD_ARGUMENT, "bytes is null");
    *bytes = 0;
  });
}

// The workspace is empty, so every pointer and size of one will do.
twill_gpu_status twill_fmha_forward(const twill_fmha_forward_arguments* arguments,
                                    void* /*workspace*/, size_t /*workspace_bytes*/, void* stream) {
  using namespace twill::gpu;
  return guarded([&] {
    check_forward_arguments(arguments, true);
    launch(*arguments, static_cast<cudaStream_t>(stream));
  });
}
