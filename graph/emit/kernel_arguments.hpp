// What the kernel of an emitted file that is one loop is called with.
#pragma once

#include <vector>

#include "graph/emit/gluon.hpp"
#include "graph/emit/plan.hpp"

namespace twill::emit {

std::vector<KernelArgument> kernel_arguments(const Plan& plan);

}  // namespace twill::emit
