// Left factors of Hopper's products by way of shared memory, where the product reads them.
//
// A module's product may have its left factor in registers in another layout than the tile that it
// is made of: Triton takes it through shared memory, and each warp that has a part of its rows gets
// them whole. wgmma reads a left factor in shared memory, too (PTX ISA, wgmma.mma_async: matrix A,
// in either order for 16 bits). So the tile can stay where it has to pass: it takes no registers,
// and is read by nobody else. FlashAttention-3 has dS so (Shah et al. 2024).
#pragma once

#include <optional>
#include <string>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Is it a layout change that moves nothing: an accumulator's fragments, of warps that have whole
/// rows, as those of a product's left factor?
bool is_left_fragment(const Module& module, const Operation& op);

/// The module's text with the left factors of loops' products that are converted to registers
/// stored to shared memory instead, line by line as before; a transposed tile is stored as it is
/// and read transposed. nullopt = there are none.
std::optional<std::string> with_stored_factors(const Module& module);

}  // namespace twill::ttgir
