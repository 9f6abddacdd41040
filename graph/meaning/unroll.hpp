// What a loop computes that is unrolled (graph/unroll.hpp): each value of it once a copy.
#pragma once

#include "graph/meaning/meaning.hpp"

namespace twill::meaning {

/// Value "v" of iteration copies * i + k is copy_name("v", k) of iteration i. Tensor "T" of the
/// loop becomes "s0_T", "s1_T", ..., the names of sub-tiles: tile i of "sk_T" is tile copies * i +
/// k of T, so that the rows of all of them follow each other in every iteration. What is after the
/// loop uses the last copy. Masks that compare places are those of the iteration that the copy is.
Meaning unrolled(const Meaning& meaning, int copies);

}  // namespace twill::meaning
