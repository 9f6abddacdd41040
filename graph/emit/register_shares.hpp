// Registers of a launch's partitions, moved to those whose text needs more than they have.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// What a partition of the launch has, a thread; 0 = the default one.
Amount registers_had(const Launch& launch, std::size_t partition);

/// Registers a thread that partitions lack: `needed` says for each, the default one first, what it
/// needs.
Amount registers_short(const Launch& launch, const std::vector<Amount>& needed);

/// The launch with registers moved, a step of setmaxnreg at a time, from partitions that have more
/// than they need to those that have less; it keeps its limits (check_limits()). The launch given
/// where they still lack more than a step (the estimate does not say who should go short).
Launch shared_by_need(const Launch& launch, const std::vector<Amount>& needed);

/// On Hopper, shared_by_need() for what registers_needed() says of each slot; a function of several
/// loops, which share their registers, is left as it is. Sets Plan::registers_short and
/// slots_short. (On Blackwell, where slots that hold tiles have as many registers each, the
/// estimate does not tell what spills from what does not.)
void share_by_need(Plan& plan);

/// What share_by_need() leaves lacking.
struct RegisterLack {
  Amount registers = 0;    ///< a thread, all slots together
  std::vector<int> slots;  ///< of the program, that lack some
  Amount held = 0;         ///< summed_pressure() of these slots
};
/// Of the kernel that emit_gluon() would write; nullopt = it is not planned.
std::optional<RegisterLack> registers_lacking(const program::Program& program,
                                              const EmitOptions& options);

}  // namespace twill::emit
