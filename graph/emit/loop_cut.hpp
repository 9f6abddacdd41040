// Where the loop of a slot's code begins.
#pragma once

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// The item of the slot's period that its loop begins with (cut_code()): the one before which it
/// holds the fewest registers (cut_of_slot()), if that leaves no doubt about which products are in
/// flight. There is doubt where the first iteration would find fewer than later ones do: a wait
/// counts those that may be left, so it would have to end them all. Then it is an item before which
/// the fewest are in flight, and the fewest stages are before the loop.
int loop_cut(const Plan& plan, int slot);

}  // namespace twill::emit
