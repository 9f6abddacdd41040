#pragma once

#include <string>
#include <vector>

#include "graph/ttgir/loop_kernel.hpp"

namespace twill::ttgir {

/// How many threads of the module hold each value of an op's tile: 1 where every value is held
/// once, or where the layout is not known.
std::int64_t repetition(const Module& module, const Operation& op, int warps);

/// "s_40 is ttng.warp_group_dot of line 74; ..." for the loop's ops that the texts name, in the
/// order of the loop; says so where the layout of a tile repeats values, as that is where its
/// registers come from.
/// "" = they name none.
std::string named_ops(const LoopKernel& loop, const Module& module,
                      const std::vector<std::string>& texts);

}  // namespace twill::ttgir
