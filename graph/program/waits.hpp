// Events, waits and barrier phases, as few as the orders need.
#pragma once

#include <optional>
#include <vector>

#include "graph/program/orders.hpp"

namespace twill::program {

/// Fills events and waits of a placed draft. A Refusal where the window is too large to look at, or
/// where no number of phases of a barrier is safe.
std::optional<Refusal> add_waits(Draft& draft);

}  // namespace twill::program
