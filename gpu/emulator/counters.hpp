// Counters in global memory, by which blocks tell each other of what TMA has written.
#pragma once

#include "gpu/emulator/state.hpp"

namespace twill::gpu::emulator {

/// Before anything that the thread lets TMA do.
void check_acquired();

}  // namespace twill::gpu::emulator
