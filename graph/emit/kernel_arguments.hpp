// What the kernel of an emitted file is called with.
#pragma once

#include <vector>

#include "graph/emit/gluon.hpp"
#include "graph/emit/plan.hpp"

namespace twill::emit {

/// `plans`: of one loop, or of all those of a function, one behind the other.
std::vector<KernelArgument> kernel_arguments(const std::vector<const Plan*>& plans);

}  // namespace twill::emit
