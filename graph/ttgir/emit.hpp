// The way back: a schedule as attributes of the module it came from, and as a pipelined loop.
#pragma once

#include <string>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"
#include "graph/ttgir/lower_ttgir.hpp"

namespace twill::ttgir {

/// The module with `loop.stage`, `loop.cluster` and `ttg.partition` on the ops of the loop's body
/// and what Triton's passes expect on its scf.for; everything else byte for byte as it came. Slots
/// become partitions: those of four warps and more first, then the rest. Partition 0, the default
/// group that also runs what comes after the loop, is the slot that stores accumulators back, if
/// one does: Triton lets at most two partitions share a buffer of tensor memory. Throws InputError
/// for a sub-tiled loop, whose ops the module does not have.
std::string emit_ttgir(const LoweredModule& lowered, const Problem& problem,
                       const Schedule& schedule);

/// The software-pipelined loop (Soi et al. 2025, Figure 2): every instruction with its slot, stage
/// and cycle, slot by slot in the order of issue, with prologue and epilogue given by the stages.
std::string emit_pipelined(const LoweredModule& lowered, const Problem& problem,
                           const Solution& solution);

}  // namespace twill::ttgir
