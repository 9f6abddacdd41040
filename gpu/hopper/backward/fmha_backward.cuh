// Attention backward on Hopper (sm_90a): dQ, dK and dV of O = softmax(scale Q K^T) V, for one
// schedule, element type and head dimension. The statements of a consumer warpgroup, their order
// and every wait come from the schedule (backward/program.hpp).
//
// A block of 384 threads works on 128 keys of one key/value head and on all query tiles that see
// them:
//   warpgroup 0   warp 0 streams Q and dO tiles by TMA into rings, warp 1 adds dQ to global memory
//   warpgroup 1-2 consumers, 64 keys each: five GEMMs and one exponential a query tile, dK and dV
//   in
//                 registers to the end
// S and dP are computed transposed. P is recomputed from the log-sum-exp (FlashAttention, Dao et
// al., 2022); the division of labour is FlashAttention-3's (Shah et al., 2024). dS goes through
// shared memory, in two buffers: a warpgroup that has joined the other for tile i knows that the
// other has ended the dQ GEMM of tile i - 1, whose buffer it writes next.
#pragma once

#include "gpu/hopper/backward/consumer.cuh"
#include "gpu/hopper/backward/loader.cuh"

namespace twill::gpu {

/// One block of the grid; `shared` is 1024-byte aligned.
template <class F>
__device__ __forceinline__ void backward_block(const BackwardArguments& g, std::uint32_t shared) {
  const int warpgroup = __shfl_sync(~0u, static_cast<int>(threadIdx.x / 128), 0);
  if (threadIdx.x == 0) {
    barrier_init(shared + F::kKFull, 1);
    barrier_init(shared + F::kVFull, 1);
    // A buffer is free when every consumer warp has said so.
    for (int i = 0; i < F::kRingQ; ++i) {
      barrier_init(shared + F::kQFull + 8 * i, 1);
      barrier_init(shared + F::kQFree + 8 * i, kConsumers * 4);
    }
    for (int i = 0; i < F::kRingDo; ++i) {
      barrier_init(shared + F::kDoFull + 8 * i, 1);
      barrier_init(shared + F::kDoFree + 8 * i, kConsumers * 4);
    }
    barrier_init_fence();
    // In a fixed order units are taken, not given: those before this one are then running.
    // The tile is computed once: its integer divisions cost more than reading it back.
    const auto unit = static_cast<int>(g.added ? fetch_add(g.next_unit, 1) : blockIdx.x);
    const KeyTile tile = key_tile(g, unit);
    const auto keep = [shared](std::uint32_t at, int value) {
      store_shared(shared + at, static_cast<std::uint32_t>(value));
    };
    keep(F::kTileNumber, tile.number);
    keep(F::kTileFirst, tile.first);
    keep(F::kTileIterations, tile.iterations);
    keep(F::kTileBatch, tile.batch);
    keep(F::kTileHead, tile.key_head);
    keep(F::kKeysLeft, g.key_length - tile.number * kKeyRows);
  }
  __syncthreads();

  if (warpgroup == 0) {
    lower_registers<kLoaderRegisters>();
    const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x / 32), 0);
    if (warp == 0) {
      if (elect_one()) load_backward<F>(g, shared, kept_tile<F>(shared));
    } else if (warp == 1) {
      add_dq<F>(g, shared, kept_tile<F>(shared));
    }
    __syncwarp();
  } else {
    raise_registers<kConsumerRegisters>();
    const auto iterations = static_cast<int>(load_shared(shared + F::kTileIterations));
    BackwardConsumer<F>{g, shared, warpgroup - 1, iterations}.work();
  }
}

#ifndef TWILL_GPU_EMULATED
template <class F>
__global__ void __launch_bounds__(kBackwardThreads, 1)
    fmha_backward(const __grid_constant__ BackwardArguments g) {
  extern __shared__ std::uint8_t raw[];
  backward_block<F>(g, aligned_shared_1024(raw));
}

/// Launches the kernel of one schedule on the current device.
template <int kSchedule, Element kElement, int kHeadDim>
cudaError_t launch_backward(const BackwardArguments& arguments, cudaStream_t stream) {
  using F = Backward<kSchedule, kElement, kHeadDim>;
  const auto kernel = fmha_backward<F>;
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, F::kSharedBytes);
  if (error != cudaSuccess) return error;
  kernel<<<arguments.units, kBackwardThreads, F::kSharedBytes, stream>>>(arguments);
  return cudaGetLastError();
}

/// The same with the schedule chosen at run time.
template <Element kElement, int kHeadDim>
cudaError_t launch_backward(int schedule, const BackwardArguments& arguments, cudaStream_t stream) {
  static_assert(kBackwardScheduleCount == 3);
  switch (schedule) {
    case 0: return launch_backward<0, kElement, kHeadDim>(arguments, stream);
    case 1: return launch_backward<1, kElement, kHeadDim>(arguments, stream);
    case 2: return launch_backward<2, kElement, kHeadDim>(arguments, stream);
    default: return cudaErrorInvalidValue;
  }
}

#endif

}  // namespace twill::gpu
