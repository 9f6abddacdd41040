// Two loops in each other that only add up: `for g: for i: acc = f(acc, g, i)`.
#pragma once

#include <optional>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The module with one loop in the place of every two where the outer one carries what the inner
/// one does, does nothing to it itself, and else only computes places (and loads vectors and
/// numbers, where the inner one stores nothing): a step of the one loop is a step of the inner
/// loop, `g` and `i` are its quotient and rest by the number of these. So the loads of the next
/// `g` are under way while the last steps of this one are computed. (Loop coalescing,
/// Polychronopoulos 1987; Triton fuses such nests, too, FuseNestedLoops.) Bounds are integers of
/// i32 that are there before both, steps constants of 1 or more. nullopt = there is no
/// such nest, or a loop that is in none.
std::optional<Module> with_flat_nests(const Module& module);

}  // namespace twill::ttgir
