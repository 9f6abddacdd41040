// Results that a kernel stores to shared memory by an op of its own. Private to graph/.
#pragma once

#include <string>
#include <vector>

#include "graph/lowering/kernel.hpp"

namespace twill {

/// Each of the named ops gets an op NAME_stored behind it, of the kind local_alloc, and the matrix
/// products that read it read that instead, through a barrier. So the result holds registers until
/// it is stored and bytes from then on. (Rule 6 counts a result that is handed over as it is in its
/// maker's registers until its last reader on another slot has ended.) A product that says what it
/// moves through SMEM moves the tile, too. Throws InputError (LowerOptions::stored says when).
void store_results(Kernel& kernel, const std::vector<std::string>& names);

}  // namespace twill
