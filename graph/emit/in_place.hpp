// Arguments that a function loads from and stores to: a kernel loads ahead, so what it loads must
// be nothing that it stores later.
#pragma once

#include <optional>
#include <vector>

#include "graph/meaning/meaning.hpp"
#include "graph/meaning/user_kernel.hpp"

namespace twill::emit {

/// Does what is stored to one tensor use what is loaded from the other in its iteration?
bool stores_what_it_loads(const meaning::Meaning& meaning, int stored, int loaded);

/// Is a tensor moved in the loop alone, by loads or by stores alone?
bool moved_in_the_loop(const meaning::Meaning& meaning, int tensor, meaning::Function function);

/// Do a tensor that is loaded in every iteration and one that is stored in every iteration, of one
/// pointer argument, have no element in common, but for those of one iteration whose store uses
/// what is loaded? Known of vectors of neighbours whose places have one distance and grow by one
/// step; false = it is not known.
bool never_met(const meaning::Meaning& meaning, const meaning::UserKernel& user, int loaded,
               int stored);

/// The same of tiles, too: what must hold of the function's arguments so that they have none in
/// common, of which the host asks; nullopt = it is not known.
std::optional<std::vector<meaning::IndexComparison>> never_met_where(
    const meaning::Meaning& meaning, const meaning::UserKernel& user, int loaded, int stored);

/// Of all tensors that are loaded from and stored to; each once.
std::vector<meaning::IndexComparison> asked_of_arguments(const meaning::Meaning& meaning,
                                                         const meaning::UserKernel& user);

}  // namespace twill::emit
