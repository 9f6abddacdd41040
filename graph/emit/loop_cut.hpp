// Where the loop of a slot's code begins.
#pragma once

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// The item of the slot's period that its loop begins with (cut_code()): the one before which it
/// holds the fewest registers (cut_of_slot()), unless no product is in flight before another
/// one that holds about as few with no more stages before the loop: ptxas may take a product that
/// is in flight from one iteration to the next for one whose registers are read (C7514). Above all
/// it leaves no doubt: where the first iteration finds fewer products in flight than later ones do,
/// a wait, which counts those that may be left, has to end them all.
int loop_cut(const Plan& plan, int slot);

}  // namespace twill::emit
