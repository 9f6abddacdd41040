// lower() for a kernel that did not come from a kernel file. Private to graph/.
#pragma once

#include <vector>

#include "graph/lower.hpp"
#include "graph/lowering/kernel.hpp"
#include "graph/lowering/machine.hpp"

namespace twill {

/// As lower() of the texts. `options.set` has been applied to the machine already.
std::vector<Lowered> lower(const Kernel& kernel, const Machine& machine,
                           const LowerOptions& options);

}  // namespace twill
