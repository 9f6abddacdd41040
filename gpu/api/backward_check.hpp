// The rules of twill_fmha_backward's arguments, without a device.
#pragma once

#include "gpu/twill_gpu.h"

namespace twill::gpu {

/// Throws Refusal with the first rule that is broken. `pointers`: those to data too.
void check_backward_arguments(const twill_fmha_backward_arguments* arguments, bool pointers);

}  // namespace twill::gpu
