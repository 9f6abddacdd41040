// One order of operands for an op, whichever form it is printed in.
#pragma once

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The generic form lists operands as the op's definition does (Triton, TritonOps.td,
/// TritonNvidiaGPUOps.td), the custom form as its syntax does; they differ for stores to tensor
/// memory, stores by descriptor and scaled products. Afterwards: stores as in the custom form, a
/// scaled product as a, b, accumulator, scales. False when an op's operands cannot be told apart.
bool order_operands(const Module& module, Operation& op);

}  // namespace twill::ttgir
