// Meetings of threads: of a warp at aligned instructions, of the block, of the cluster, and at
// named barriers.
#pragma once

#include "gpu/emulator/state.hpp"

namespace twill::gpu::emulator {

/// All lanes of a warp execute the same aligned instructions in the same order. (That they come
/// together again behind a branch is ptxas's work, and not looked at.)
void aligned(const char* what, int operand = -1);
/// `orders`: as __syncwarp and bar.sync, what was before it is known after it.
void meet(Meeting& meeting, int threads, bool orders = false);

}  // namespace twill::gpu::emulator
