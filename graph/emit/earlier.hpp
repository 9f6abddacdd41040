// Loops before the loop that store nothing: each slot that needs what one makes repeats it.
#pragma once

#include <optional>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Names for them (Plan::earlier), when the slots' warps are known; or why one has no text.
std::optional<program::Refusal> plan_earlier(Plan& plan, Names& names, const EmitOptions& options);

}  // namespace twill::emit
