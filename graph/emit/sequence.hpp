// Kernels of several loops one behind the other (UserKernel::parts).
#pragma once

#include <optional>
#include <vector>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Makes the plans of one function's loops those of one kernel: as many warps in all of them. Why
/// they are none together: rule "function", "tensors" or "limits".
std::optional<program::Refusal> fit_together(std::vector<Plan>& plans);

}  // namespace twill::emit
