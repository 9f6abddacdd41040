// Index arithmetic: the ops of a loop that every warp computes for itself instead of being sent the
// result. They are no nodes of the loop graph.
#pragma once

#include <functional>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The mask of a tt.store or a tt.atomic_rmw which ops inside of a loop make of what they compute,
/// of real numbers or of a reduction; kNone = it has none, or every slot can compute it: of places,
/// or of integers that are loaded.
int data_mask(const Module& module, const Operation& op, const std::function<bool(int)>& inside);

/// Per op of the module: is it replicated? True for ops in `blocks` whose results are scalars or
/// descriptors, for constants and splats, and for integer and pointer tiles of which everything
/// that uses them is index arithmetic too, or an address or mask of a load or store.
std::vector<bool> replicated_ops(const Module& module, const std::vector<int>& blocks);

/// Does operand `k` of a load, store or copy only say where: address, mask, descriptor, index?
bool is_address_operand(const Module& module, const Operation& op, std::size_t k);

}  // namespace twill::ttgir
