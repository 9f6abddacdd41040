#pragma once

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// "ttg.warp_specialize" in MLIR's generic syntax has its partitions as the regions of one op,
/// "ttg.warp_specialize.partitions", that stands alone in its second region and may have its
/// operands. Makes of it what the custom syntax gives: the regions and operands are the outer op's.
/// `op`, which has the number `index`, is not in the module yet. Anything else is left as it is.
void take_partitions(Module& module, Operation& op, int index);

}  // namespace twill::ttgir
