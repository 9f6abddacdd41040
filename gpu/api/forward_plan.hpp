// The division of a call of twill_fmha_forward into work.
#pragma once

#include "gpu/hopper/forward/work.hpp"
#include "gpu/twill_gpu.h"

namespace twill::gpu {

/// The work of checked arguments: tiles, their order, and whether blocks share K and V.
ForwardWork forward_work(const twill_fmha_forward_arguments& arguments);

}  // namespace twill::gpu
