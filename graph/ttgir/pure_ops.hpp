// Ops that do nothing but compute, and so may be done where a program would not come to them.
// Private to graph/ttgir/.
#pragma once

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Does an op make its one result of its operands alone: arithmetic, repetitions, places? (A
/// division of integers is one of them: by 0 it is none. divides_integers() says so.)
bool only_computes(const Operation& op);

/// Is it a quotient or a rest of integers?
bool divides_integers(const Operation& op);

/// What a value repeats, through splats, broadcasts and layouts; itself where it repeats nothing.
int repeated_value(const Module& module, int value);

/// Is a value one number over 0, or a tile of one?
bool is_over_zero(const Module& module, int value);

}  // namespace twill::ttgir
