// The way back: a schedule as attributes of the module it came from, and as a pipelined loop.
#pragma once

#include <string>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"
#include "graph/ttgir/lower_ttgir.hpp"

namespace twill::ttgir {

/// The module with `loop.stage` and `loop.cluster` on the ops of the loop's body, `ttg.partition`
/// on those of the region that is partitioned (the loop, or one around it that has
/// tt.warp_specialize), and what Triton's passes expect on its scf.for; everything else byte for
/// byte as it came, but for the scf.yield of a body that is printed without one (edit.hpp). Slots
/// become partitions (placer.hpp); `remarks` gets where an op's partition or stage is not that of
/// the schedule. Where Triton would not take the partitions they and tt.warp_specialize are left
/// out, with a remark that says why. Throws InputError for a sub-tiled loop, whose ops the module
/// does not have.
std::string emit_ttgir(const LoweredModule& lowered, const Problem& problem,
                       const Schedule& schedule, std::vector<std::string>* remarks = nullptr);

/// The software-pipelined loop (Soi et al. 2025, Figure 2): every instruction with its slot, stage
/// and cycle, slot by slot in the order of issue, with prologue and epilogue given by the stages.
std::string emit_pipelined(const LoweredModule& lowered, const Problem& problem,
                           const Solution& solution);

}  // namespace twill::ttgir
