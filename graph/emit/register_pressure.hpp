// How many registers a slot's results take at once.
#pragma once

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Registers a thread that results of the slot take where most of them are held, in the steady
/// state: from the op that writes one to the last that reads it. An op may write over what it is
/// the last to read; what a product of Hopper reads is held until its slot has waited for it.
Amount register_pressure(const Plan& plan, int slot);

/// The same behind each op of the slot, in their order; empty where it has none.
std::vector<Amount> registers_held(const Plan& plan, int slot);

}  // namespace twill::emit
