// Index arithmetic: the ops of a loop that every warp computes for itself instead of being sent the
// result. They are no nodes of the loop graph.
#pragma once

#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Per op of the module: is it replicated? True for ops in `blocks` whose results are scalars or
/// descriptors, for constants and splats, and for integer and pointer tiles of which everything
/// that uses them is index arithmetic too, or an address or mask of a load or store.
std::vector<bool> replicated_ops(const Module& module, const std::vector<int>& blocks);

/// Does operand `k` of a load, store or copy only say where: address, mask, descriptor, index?
bool is_address_operand(const Module& module, const Operation& op, std::size_t k);

}  // namespace twill::ttgir
