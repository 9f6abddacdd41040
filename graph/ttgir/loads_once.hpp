// A tile that is loaded in two layouts is loaded once.
//
// Triton loads a tile for each layout that its uses want, since a load costs less than to move it
// between threads. Where the function stores to the same argument, what is stored must be made of
// the load that comes before it (graph/emit/in_place.hpp), and there are two.
#pragma once

#include <optional>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The module with ttg.convert_layout of the first load in the place of a second one of the same
/// block, from the same places under the same mask, of an argument that the function stores to,
/// where nothing has been stored between them. Ops keep the lines that they had. nullopt = there is
/// none.
std::optional<Module> with_loads_once(const Module& module);

}  // namespace twill::ttgir
