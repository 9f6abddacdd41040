// The division of a call of twill_fmha_backward into work, and of its workspace.
#pragma once

#include <cstddef>

#include "gpu/hopper/backward/arguments.hpp"
#include "gpu/twill_gpu.h"

namespace twill::gpu {

/// The work of checked arguments: tiles and their order.
BackwardWork backward_work(const twill_fmha_backward_arguments& arguments);

/// Offsets in the workspace, and its size, in bytes.
struct BackwardSpace {
  std::size_t lse, delta, dq, added, next_unit, bytes;
};
BackwardSpace backward_space(const twill_fmha_backward_arguments& arguments);

/// The parts of a workspace; counters only where the order counts.
BackwardSums backward_sums(const twill_fmha_backward_arguments& arguments, void* workspace);

/// The launches before and after the kernel.
DeltaArguments delta_arguments(const twill_fmha_backward_arguments& arguments, void* workspace);
ConvertArguments convert_arguments(const twill_fmha_backward_arguments& arguments, void* workspace);

}  // namespace twill::gpu
