// Blocks that store and return before the loop, as choices behind it: `if c: store(p, 0); return`
// is a loop that runs not at all where c holds, and stores that choose.
//
// A text has one way through the function (graph/emit/user_function.cpp): it returns early only
// where nothing has been stored. Fused layers of experts store zeros for blocks whose expert is not
// here, and return (vLLM's fused_moe_kernel, `write_zeros_to_output`).
#pragma once

#include <optional>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The module without such blocks. Where the function would have returned, its loops run 0 times
/// and what else is moved behind the branch is masked off; a store to the same place under the same
/// mask chooses what it stores. Only where nothing but stores and arithmetic stands in the block,
/// and nothing behind it does more than compute, load and store tiles, or divides by anything but
/// numbers and arguments that the condition does not ask. Ops keep the lines that they had. nullopt
/// = there is no such block.
std::optional<Module> with_late_returns(const Module& module);

}  // namespace twill::ttgir
