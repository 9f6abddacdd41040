// What Triton's partition scheduling does by itself with partitions that it is given, and how it is
// told not to.
//
// It numbers them anew; it repeats ops that it holds for cheap in other partitions; it moves ops to
// the partitions of their users. The unit attribute `store` makes an op one of a store's, which is
// not repeated, `data` one whose partition is its own.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "graph/ttgir/demand.hpp"
#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Triton numbers partitions anew, in this order.
enum class PartitionKind { other, stores, products, loads };

/// Loads and stores by descriptor, and products in tensor memory.
PartitionKind partition_kind(const Operation& op);

/// Of a partition with ops of both kinds.
PartitionKind joined(PartitionKind a, PartitionKind b);

/// Ops that Triton must be told not to repeat in other partitions: by itself it repeats what it
/// holds for cheap, exponentials and reductions too, where a value comes back to the partition
/// that it went out from. And Triton looks at partitions only where some op is one of loads or
/// stores by descriptor: if none is, one op of the last partition is said to be one (which is then
/// not repeated either).
std::set<int> not_repeated(const Module& module, const Demand& demand);

/// Ops that Triton must be told to leave in their partition, of those with one (op -> partition):
/// by itself it puts into that of their users whatever is made of loads through pointers alone.
std::vector<int> not_followed(const Module& module, const Demand& demand,
                              const std::unordered_map<int, int>& own);

/// Is partition 0 also the first one in Triton's order of partitions?
bool keeps_default(const Module& module, const Demand& demand);

}  // namespace twill::ttgir
