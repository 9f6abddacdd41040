// 16-bit elements as fp32.
#pragma once

#include <vector>

#include "gpu/emulator/machine.hpp"

namespace twill::gpu::emulator {

/// Of every pattern of bits.
const std::vector<float>& table(Element element);

}  // namespace twill::gpu::emulator
