// Arguments that a function loads from and stores to: a kernel loads ahead, so what it loads must
// be nothing that it stores later.
#pragma once

#include "graph/meaning/meaning.hpp"
#include "graph/meaning/user_kernel.hpp"

namespace twill::emit {

/// Do a tensor that is loaded in every iteration and one that is stored in every iteration, of one
/// pointer argument, have no element in common, but for those of one iteration whose store uses
/// what is loaded? Known of vectors of neighbours whose places have one distance and grow by one
/// step; false = it is not known.
bool never_met(const meaning::Meaning& meaning, const meaning::UserKernel& user, int loaded,
               int stored);

}  // namespace twill::emit
