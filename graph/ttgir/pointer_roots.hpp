// Which arguments of a function pointers and descriptors lead to, through loops and branches, and
// what is never stored to.
#pragma once

#include <optional>
#include <set>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The arguments of `function` behind which a pointer, a tile of them or a descriptor may lead, by
/// their numbers. nullopt = it may lead elsewhere, too.
std::optional<std::set<int>> pointer_roots(const Module& module, int function, int value);

/// Does nothing in the module store to what lies behind an argument of `function`? Arguments are
/// taken to lead to memory of their own, as everywhere here. False where it is not known.
bool never_stored(const Module& module, int function, int argument);

}  // namespace twill::ttgir
