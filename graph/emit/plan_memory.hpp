// Shared memory of a kernel: which storages have a buffer of their own, where tiles on their way
// out lie, how much of all that there is.
#pragma once

#include <optional>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Fills `staging`, `staging_users`, `view_of` and what `launch` says of memory and barriers; may
/// make more ends of slots needed (`done_needed`). Rules "limits" and "storage".
std::optional<program::Refusal> plan_memory(Plan& plan, Names& names);

}  // namespace twill::emit
