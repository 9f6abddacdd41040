// Sums that go to tensor memory and back in every iteration stay there (Blackwell).
//
// A product adds in tensor memory. Where a loop carries its sum in registers, each iteration stores
// it there, and loads it again. Triton keeps such sums in tensor memory (its pass "hoist tmem
// alloc"), but not those of products in a branch, which may lose their branch later
// (always_added.hpp).
#pragma once

#include <optional>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The module with such sums in a buffer from before their loop, stored there once and loaded
/// behind it. The body of the scf.for stores the carried tile, adds products to it, loads it and
/// hands that on; nothing else reads either tile. Ops keep the lines that they had, but for those
/// before and behind the loop, which have the loop's. nullopt = there is none.
std::optional<Module> with_sums_kept(const Module& module);

}  // namespace twill::ttgir
