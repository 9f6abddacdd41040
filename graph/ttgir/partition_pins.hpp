// What of a loop is bound to one partition by Triton's warp specialisation, as pins of the problem.
#pragma once

#include <vector>

#include "graph/problem.hpp"
#include "graph/ttgir/lower_ttgir.hpp"

namespace twill::ttgir {

/// Per node of the loop, the op of the problem that it became: its own or the chain that it is in;
/// -1 where it is none.
std::vector<int> problem_ops(const LoweredModule& lowered, const Problem& problem);

/// The narrow slot of fixed latency that issues tensor memory products, or -1.
int product_slot(const Problem& problem);

/// The loop that Triton partitions whole with a loop in it: the outermost one around it, or itself,
/// that has tt.warp_specialize; else the loop itself.
int specialised_root(const Module& module, int loop);

/// Is it a load of a tile through pointers?
bool is_pointer_load(const Module& module, int op);

/// Does an op load from tensor memory or store into it?
bool is_memory_access(const Operation& op);

/// The buffer of tensor memory that a load or store of it works on, behind views; else kNone.
int tensor_memory_of(const Module& module, const Operation& op);

/// What a schedule must keep to for Triton's passes to take it: tensor memory products are issued
/// by one partition (the product slot), the loads and stores of a buffer of tensor memory by one
/// other, what is carried from iteration to iteration by the one that makes it. None for targets
/// before cuda:100, which take no partitions.
std::vector<Pin> partition_pins(const LoweredModule& lowered, const Problem& problem);

}  // namespace twill::ttgir
