// Attention forward on Hopper (sm_90a): O = softmax(scale Q K^T) V and its log-sum-exp, for one
// schedule, element type and head dimension. The statements of a consumer warpgroup, their order
// and every wait come from the schedule (forward/program.hpp); forward/consumer.cuh says what each
// does, forward/loader.cuh has the loads.
//
// A block of 384 threads works on 128 query rows at a time (or of 512 on 192, see schedule.hpp) and
// is persistent:
//   warpgroup 0     warp 0 streams K and V blocks by TMA into rings, warp 1 streams Q tiles
//   warpgroup 1-2/3 consumers, 64 query rows each: wgmma, softmax in registers, O by TMA
// The online softmax is FlashAttention's (Dao et al., 2022), the division of labour and the
// register split FlashAttention-3's (Shah et al., 2024). Key blocks run from last to first, so that
// blocks that need a mask come first. Tiles lie in shared memory as [panel][row][64 elements],
// 128-byte swizzled by TMA.
//
// Two blocks of a cluster that work on the same head may share its K and V: each loads half of the
// panels of a block for both (TMA multicast), and a buffer is free when the consumers of both have
// released it.
#pragma once

#include "gpu/hopper/forward/consumer.cuh"
#include "gpu/hopper/forward/loader.cuh"

namespace twill::gpu {

/// One block of the grid; `shared` is 1024-byte aligned.
template <class F>
__device__ __forceinline__ void forward_block(const ForwardArguments& g, std::uint32_t shared) {
  const int rank = g.blocks == 1 ? 0 : static_cast<int>(blockIdx.x & 1);
  const int warpgroup = __shfl_sync(~0u, static_cast<int>(threadIdx.x / 128), 0);

  if (threadIdx.x == 0) {
    for (int w = 0; w < F::kConsumers; ++w) {
      barrier_init(shared + F::kQFull + 8 * w, 1);
      barrier_init(shared + F::kQFree + 8 * w, F::kQueryArrivals);
    }
    // A K or V buffer is free when every consumer warp, of both blocks, has said so.
    const int consumers = F::kConsumers * 4 * g.blocks;
    for (int i = 0; i < F::kRing; ++i) {
      barrier_init(shared + F::kKFull + 8 * i, 1);
      barrier_init(shared + F::kVFull + 8 * i, 1);
      barrier_init(shared + F::kKFree + 8 * i, consumers);
      barrier_init(shared + F::kVFree + 8 * i, consumers);
    }
    barrier_init_fence();
  }
  __syncthreads();
  if (g.blocks > 1) cluster_sync();

  if (warpgroup == 0) {
    lower_registers<kLoaderRegisters>();
    const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x / 32), 0);
    if (warp == 0 && elect_one())
      load_keys_values<F>(g, shared, rank);
    else if (warp == 1 && elect_one())
      load_queries<F>(g, shared, rank);
    __syncwarp();
  } else {
    raise_registers<F::kRegisters>();
    const int group = warpgroup - 1;
    if (F::kSchedule.slots == 1 || group == 0)
      Consumer<F, 0>{g, shared, group, rank}.work();
    else
      Consumer<F, F::kSchedule.slots - 1>{g, shared, group, rank}.work();
  }
  // No block leaves while the other may still signal its barriers.
  if (g.blocks > 1) cluster_sync();
}

#ifndef TWILL_GPU_EMULATED
template <class F>
__global__ void __launch_bounds__(F::kThreads, 1)
    fmha_forward(const __grid_constant__ ForwardArguments g) {
  extern __shared__ std::uint8_t raw[];
  forward_block<F>(g, aligned_shared_1024(raw));
}

/// Launches the kernel of one schedule on the current device.
template <int kSchedule, Element kElement, int kHeadDim>
cudaError_t launch_forward(const ForwardArguments& arguments, int grid, cudaStream_t stream) {
  using F = Forward<kSchedule, kElement, kHeadDim>;
  const auto kernel = fmha_forward<F>;
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, F::kSharedBytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(arguments.blocks), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid));
  config.blockDim = dim3(F::kThreads);
  config.dynamicSmemBytes = F::kSharedBytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments);
}

/// The same with the schedule chosen at run time.
template <Element kElement, int kHeadDim>
cudaError_t launch_forward(int schedule, const ForwardArguments& arguments, int grid,
                           cudaStream_t stream) {
  static_assert(kForwardScheduleCount == 4);
  switch (schedule) {
    case 0: return launch_forward<0, kElement, kHeadDim>(arguments, grid, stream);
    case 1: return launch_forward<1, kElement, kHeadDim>(arguments, grid, stream);
    case 2: return launch_forward<2, kElement, kHeadDim>(arguments, grid, stream);
    case 3: return launch_forward<3, kElement, kHeadDim>(arguments, grid, stream);
    default: return cudaErrorInvalidValue;
  }
}

#endif

}  // namespace twill::gpu
