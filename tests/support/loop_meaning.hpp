// Something that a random loop computes, so that its program can be executed with numbers.
#pragma once

#include "graph/meaning/meaning.hpp"
#include "graph/problem.hpp"

namespace twill::test {

/// Every op of the program takes the sum of all that it uses, times a half, and a number of its
/// own; who uses nothing loads a tile, whose result nobody uses stores it. So every version of
/// every operand shows. Vectors of 4 f32: 16 bytes. `problem` must have a schedule.
meaning::Meaning loop_meaning(const Problem& problem);

}  // namespace twill::test
