// Descriptors of products' operands, which a compiler keeps over a slot's loop.
//
// An instruction of a product takes its operand in shared memory by a descriptor, 64 bits for each
// 16 numbers of what is summed. Where the operand lies at the same place in every iteration they
// are the same in every iteration, and the compiler moves them before the loop: into uniform
// registers as long as there are some, then into registers of the threads, then into memory.
#pragma once

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// How many of the slot's descriptors are the same in every iteration.
int lasting_descriptors(const Plan& plan, int slot);

/// Are they more than a warp has uniform registers for? Then the slot's text says the places so
/// that no compiler knows them before the iteration has begun. (With fewer the loop has fewer
/// instructions where they are kept.)
bool descriptors_are_made_anew(const Plan& plan, int slot);

}  // namespace twill::emit
