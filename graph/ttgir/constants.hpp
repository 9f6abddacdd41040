// Numbers that a module states: constants, and the axis of an op.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The number that a value is when an arith.constant of integer type makes it (true is 1, also
/// where it is written -1 : i1); nullopt for anything else. Throws InputError with the constant's
/// place when it does not fit into 64 bits.
std::optional<std::int64_t> constant_integer(const Module& module, int value);

/// Is a value a tile of zeros that an arith.constant makes?
bool is_tile_of_zeros(const Module& module, int value);

/// A value as another one and a constant that is added to it. Of a constant alone the other one is
/// kNone.
struct WithConstant {
  int value = kNone;
  std::int64_t added = 0;
};
WithConstant with_constant(const Module& module, int value);

/// The axis of a reduction, a scan or an expand_dims. Throws InputError with the op's place when it
/// has none or one that is no dimension of its tile (of expand_dims: of its result).
int axis_of(const Module& module, const Operation& op);

}  // namespace twill::ttgir
