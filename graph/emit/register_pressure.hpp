// How many registers a slot's results take at once.
#pragma once

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Registers a thread that results of the slot take where most of them are held, in the steady
/// state: from the op that writes one to the last that reads it. An op may write over what it is
/// the last to read; what a product of Hopper reads is held until its slot has waited for it.
Amount register_pressure(const Plan& plan, int slot);

/// Where a slot's loop is to begin (cut_code.hpp): on Blackwell where the fewest registers are held,
/// if that makes a difference. Where a loop begins again, ptxas gives each tile a place of its own,
/// and moves it there: with a tile of 128 registers it spilled 1,000 bytes.
int cut_of_slot(const Plan& plan, int slot);

}  // namespace twill::emit
