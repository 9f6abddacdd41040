// A loop on a finer clock, and what is known of it without solving it.
#pragma once

#include "graph/problem.hpp"

namespace twill::test {

/// All cycles times k.
void scale(Problem& problem, Cycle k);

/// Does floor(M / k) make a schedule at I of one at k I of the scaled loop? Dependences, capacities
/// and copies stay: at residue s they are those of cycle k s + k - 1. But who waits could come to
/// stand where another still executes, and a ring be deeper.
bool may_be_divided(const Problem& problem);

}  // namespace twill::test
