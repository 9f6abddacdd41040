// Branches that only compute, as choices: `if c: x, y = ..` is both sides and a selection by c for
// each result.
//
// A text computes both sides of a branch anyway (meaning_branches.cpp), as steps of one op, which
// can have one result. (MLIR, "arith" dialect: arith.select takes either operand, whatever the
// other one is.)
#pragma once

#include <optional>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The module with arith.select in the place of branches whose sides do nothing but compute, and
/// can be computed where they are not taken: no load, no division by what may be 0, no memory but
/// what the side itself allocates for its products. Those with two or more results, and those with
/// one that are in no innermost loop, or in another branch. Ops keep the lines that they had.
/// nullopt = there is none.
std::optional<Module> with_chosen_branches(const Module& module);

}  // namespace twill::ttgir
