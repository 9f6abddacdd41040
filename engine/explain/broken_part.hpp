// Does a schedule keep one part of the problem, and where not?
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "encoders/placement.hpp"
#include "graph/schedule.hpp"

namespace twill::order {

/// Residues of I, first and last.
struct ResidueRange {
  Cycle first = 0, last = 0;
};

/// Where a schedule breaks a part.
struct BrokenPart {
  /// In order, of a unit the longest only; none where the part is not about residues.
  std::vector<ResidueRange> residues;
  int slot = -1;         ///< the slot of a wait or of registers
  std::vector<int> ops;  ///< on the unit at its first residue, or beside a wait
};

/// Of holds only those among `parts` count. A hold is broken where a part of `parts`, registers or
/// memory, is so with it. nullopt = kept.
std::optional<BrokenPart> broken(const Problem& problem, const Schedule& schedule,
                                 const ConstraintPart& part, std::span<const ConstraintPart> parts);

inline bool breaks(const Problem& problem, const Schedule& schedule, const ConstraintPart& part,
                   std::span<const ConstraintPart> parts) {
  return broken(problem, schedule, part, parts).has_value();
}

}  // namespace twill::order
