// What a loop computes that is unrolled (graph/unroll.hpp): each value of it once a copy.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/meaning/meaning.hpp"

namespace twill::meaning {

/// A constant that is `first + factor * step` of numbers and constants of the loop's own meaning.
struct MovedConstant {
  Operand first, step;
  std::int64_t factor = 0;
};

/// Value "v" of iteration copies * i + k is copy_name("v", k) of iteration i. Tensor "T" of the
/// loop becomes "s0_T", "s1_T", ..., the names of sub-tiles: tile i of "sk_T" is tile copies * i +
/// k of T, so that the rows of all of them follow each other in every iteration. What is after the
/// loop uses the last copy. Masks that compare places are those of the iteration that the copy is.
/// A place that is made of constants becomes a number; with `moved` it becomes a constant of its
/// own, behind those of `meaning` in order, so that it can be computed anew where they change.
/// Throws InputError where names of copies are taken.
Meaning unrolled(const Meaning& meaning, int copies, std::vector<MovedConstant>* moved = nullptr);

}  // namespace twill::meaning
