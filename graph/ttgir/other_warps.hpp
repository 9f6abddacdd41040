// Tiles of a partition with another number of warps than the module. Triton gives a partition fewer
// warps where its tiles are small, and lays these out anew: what is undone puts them back on the
// module's warps. Private to graph/ttgir/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// A text of types, each tensor's layout in it on `to` warps in the place of `from`: a warp more
/// holds what a thread held of the dimension that comes last in the layout's order, and the other
/// way around. Layouts of tensors that name no warps stay. nullopt where a layout is not known, is
/// not of `from` warps, or cannot be spread so (`from` and `to` are not apart by a power of two).
std::optional<std::string> on_other_warps(std::string_view text, int from, int to,
                                          const Module& module);

}  // namespace twill::ttgir
