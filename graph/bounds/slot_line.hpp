// One iteration on one slot: what waits there, and what units ask for between the waits.
#pragma once

#include <optional>

#include "graph/bounds/bounds.hpp"

namespace twill {

/// The largest bound on L at `ii` by the waits of a slot and a unit that is used between them,
/// where it is above `above`. nullopt where none is, where no schedule exists at `ii`, and for
/// slots of more than 200 ops. The proof is in slot_line.cpp.
std::optional<Bound> slot_line_bound(const Problem& problem, Cycle ii, Cycle above);

}  // namespace twill
