// Which tiles gpu/hopper and gpu/blackwell can copy, compute and keep in tensor memory.
#pragma once

#include "graph/emit/cuda_plan.hpp"

namespace twill::emit {

/// Needs the plan's warpgroups. Throws program::Refusal, which names the first tile that has a
/// type, a shape or a place that the CUDA headers do not carry.
void check_cuda_tiles(const CudaPlan& cuda);

}  // namespace twill::emit
