// Products that stand before the loop or behind it: the slot that needs one issues it and waits for
// it. What of its factors lies nowhere that it can take it from gets a buffer.
#pragma once

#include <optional>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Fills `outside`. Rules "op", "operand", "type" and "limits".
std::optional<program::Refusal> plan_products(Plan& plan, Names& names);

}  // namespace twill::emit
