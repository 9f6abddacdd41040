// Products in a branch whose factors are 0 where it is not taken: `if c: acc = dot(a, b, acc)` is
// acc = dot(a, b, acc).
//
// A block-sparse product leaves out blocks. Once its loads stand in front of the branch, masked by
// its condition (loads_ahead.hpp), what is left out adds 0. Without the branch the product is one
// of the loop, which may be in flight while others work.
#pragma once

#include <optional>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The module without such branches of loops: one side adds the product to a tile, the other side
/// hands on that tile. Both factors are loaded with 0 where the condition does not hold, and only
/// moved since: 0 times what is no number would be none. (A sum of -0 becomes 0.) Ops have the line
/// of the branch. nullopt = there is none.
std::optional<Module> with_products_always_added(const Module& module);

}  // namespace twill::ttgir
