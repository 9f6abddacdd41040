// What Triton's passes cannot do with a schedule.
#pragma once

#include <string>
#include <vector>

#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/placer.hpp"

namespace twill::ttgir {

/// Why Triton would not take the schedule's partitions.
struct NoPartitions {
  std::string why;         ///< "" = it does
  bool by_triton = false;  ///< where the module asks for it, Triton can make its own
};

/// Tried with Triton 3.7 to 3.9, and read in its passes: with one partition there is nothing to be
/// specialised; before cuda:90 there is no such pass; that for Hopper divides tiles among tasks of
/// its own and takes no partitions (nor modules of other than four warps). Of ops with regions only
/// loops, branches and reductions of one tile are written into partitions, and no branch
/// that hands on a buffer of tensor memory, or has one of its own. A number (no tile) that is read
/// after the loop, and a tile that is a variable of the loop, come from the default group. A wait
/// for a variable that another partition makes gets no stage, so it may come behind what reads it.
/// A descriptor that the loop makes has one place more in global memory than a load has buffers,
/// which is too few if it is used in a later stage.
NoPartitions why_no_partitions(const LoweredModule& lowered, const Placer& placer);

/// Why the partitions take too much shared memory; "" if they do not.
std::string why_too_large(const LoweredModule& lowered, const Placer& placer);

/// Does a loop with this body make descriptors, in branches too?
bool makes_descriptors(const Module& module, const std::vector<int>& body);

/// A loop among these ops, or in a branch of one, that makes descriptors; kNone: there is none.
int makes_descriptors_within(const Module& module, const std::vector<int>& body);

/// The loop's variables that are descriptors.
int carried_descriptors(const Module& module, const std::vector<int>& body);

/// A loop among these ops and in their regions in which Triton's pipeliner has something to do (as
/// of 3.7 to 3.9: loads for a product, or any where the loop has tt.num_stages; products in tensor
/// memory), or kNone. It does nothing to loops with loops in them.
int pipelined_by_triton(const Module& module, const std::vector<int>& ops);

}  // namespace twill::ttgir
