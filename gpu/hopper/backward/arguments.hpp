// What the host passes to the three launches of the Hopper backward pass.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpu/hopper/backward/work.hpp"
#include "gpu/hopper/element.hpp"

namespace twill::gpu {

/// A 16-bit tensor [batch][sequence][head][head_dim], strides in elements.
struct DeviceTensor {
  std::uint16_t* data;
  std::int64_t batch_stride, sequence_stride, head_stride;
};

/// The workspace of a call, in device memory. Rows are those of all tiles: beyond the last query
/// row the log-sum-exp is +infinity, so that such rows weigh nothing.
struct BackwardSums {
  float* lse;           ///< [batch][query head][row], base 2; +infinity where no key is seen
  float* delta;         ///< [batch][query head][row], row sum of dO * O
  float* dq;            ///< [batch][query head][tile][fragment order, see dq_place]
  unsigned* added;      ///< [batch][query head][tile]: key tiles added so far; null: in any order
  unsigned* next_unit;  ///< units taken so far, where the order counts
};

struct BackwardArguments : BackwardWork, BackwardSums {
  CUtensorMap q, k, v, d_o, dk, dv;
  float scale;       ///< of Q K^T, > 0
  float scale_log2;  ///< scale * log2(e)
};

/// Before: delta, the log-sum-exp in base 2, dQ's sum and the counters zeroed.
struct DeltaArguments : BackwardSums {
  DeviceTensor o, d_o;
  const float* lse_natural;  ///< [batch][query head][query row]
  int batch, query_heads, query_length, head_dim, rows, tiles;
  Element element;
};

/// After: dQ's sum in the element type and in rows.
struct ConvertArguments : BackwardSums {
  DeviceTensor d_q;
  int batch, query_heads, query_length, head_dim, rows, tiles;
  Element element;
  float scale;
};

cudaError_t launch_backward_delta(const DeltaArguments&, cudaStream_t);
cudaError_t launch_backward_convert(const ConvertArguments&, cudaStream_t);

/// Launches the kernel of one schedule (index of kBackwardSchedules). One function a file of
/// gpu/hopper, so that the files compile in parallel.
using BackwardLaunch = cudaError_t (*)(int schedule, const BackwardArguments&, cudaStream_t);

cudaError_t launch_backward_d64_f16(int, const BackwardArguments&, cudaStream_t);
cudaError_t launch_backward_d64_bf16(int, const BackwardArguments&, cudaStream_t);
cudaError_t launch_backward_d128_f16(int, const BackwardArguments&, cudaStream_t);
cudaError_t launch_backward_d128_bf16(int, const BackwardArguments&, cudaStream_t);

}  // namespace twill::gpu
