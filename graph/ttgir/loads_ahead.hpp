// Loads in a branch of a loop, ahead of it: `if c: x = load(p)` is x = load(p, mask=c, other=0) and
// the branch that computes with it.
//
// A block-sparse product or attention leaves out blocks by a branch around loads and products. A
// pipeline issues loads iterations before what uses them, so they have to stand in the loop itself.
// What the condition excludes is not loaded there, either.
#pragma once

#include <optional>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The module with the loads of tiles in branches of loops, and what their places and masks are
/// made of, in front of the branch: masked by its condition, 0 where that does not hold. Of a side
/// without regions, whose loads stand before all that it may store. Not where a number is loaded
/// for such a place, where a load is volatile, and where an integer is divided by anything but a
/// number. Ops keep the lines that they had, but for those in front of a branch, which have the
/// branch's. nullopt = there is none.
std::optional<Module> with_loads_ahead(const Module& module);

}  // namespace twill::ttgir
