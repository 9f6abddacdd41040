// What enters a branch that makes nothing.
#pragma once

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The i1 that says whether a branch without results is entered: of an scf.if its operand; of an
/// scf.for that carries nothing and runs once or not at all, as a comparison made an integer says
/// (`for _ in range(a != b)`), that comparison. kNone = it is neither.
int branch_condition(const Module& module, int op);

}  // namespace twill::ttgir
