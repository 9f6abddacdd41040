// Two units in a row: what one of them has to end before the other one can begin.
#pragma once

#include <optional>

#include "graph/bounds/bounds.hpp"

namespace twill {

/// The largest bound on L at `ii` by two units in a row, where it is above `above`. nullopt where
/// none is, where no schedule exists at `ii`, and in loops of more than 200 ops.
std::optional<Bound> two_unit_bound(const Problem& problem, Cycle ii, Cycle above);

}  // namespace twill
