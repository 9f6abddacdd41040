#pragma once
#include <set>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Ops of a loop's body that make real numbers, not tiles, which the loop keeps from iteration to
/// iteration, or hands to what stands behind it, and that no reduction's op keeps: somebody has to
/// hold such a number, so each is an op of its own. (Other numbers each slot computes for itself.)
/// Likewise integers (i32) that it hands to what stands behind it, and that do not grow by the same
/// number in every iteration.
/// `replicated`: by op, what every slot computes for itself (replicated_ops()).
std::set<int> ops_of_carried_numbers(const Module& module, int loop, int body,
                                     const std::vector<bool>& replicated);

}  // namespace twill::ttgir
