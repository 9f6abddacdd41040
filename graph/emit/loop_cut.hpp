// Where the loop of a slot's code begins.
#pragma once

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// The code of a slot (cut_code()). Its loop begins with the item of the period before which it
/// holds the fewest registers (cut_of_slot()), unless no product is in flight before another
/// one that holds about as few with no more stages before the loop: ptxas may take a product that
/// is in flight from one iteration to the next for one whose registers are read (C7514). Above all
/// it leaves no doubt: where the first iteration finds fewer products in flight than later ones do,
/// a wait, which counts those that may be left, has to end them all.
///
/// ptxas follows products in flight through one iteration alone. So no result that threads read may
/// be ended, an iteration after its issue, by a wait that leaves others in flight (C7514), and no
/// register that a product in flight reads may be written by the same text again (C7513): the loop
/// begins where neither happens, and where there is no such place those waits stand earlier, by as
/// few ops as can be.
CutCode loop_code(const Plan& plan, int slot);

}  // namespace twill::emit
