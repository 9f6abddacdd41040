// What sensitivity() (twill_explain.hpp) asks of.
#pragma once

#include "engine/include/twill_explain.hpp"

namespace twill {

/// `problem` with `cycles` >= 1 for op `v`, which has some: its reservations and the delays behind
/// it are scaled with it, rounded up, and what was as long as the op stays so.
Problem with_cycles(const Problem& problem, int v, Cycle cycles);

}  // namespace twill
