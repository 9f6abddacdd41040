// Arguments that a function stores to at several places in its text: slots store when their results
// are there, so nothing but these stores' places says that they may.
#pragma once

#include "graph/meaning/meaning.hpp"
#include "graph/meaning/user_kernel.hpp"

namespace twill::emit {

/// May the two tensors, both stored to through one argument, be stored in any order? Of two stores
/// in one loop, or two behind it, that is taken for granted where one of them begins an unknown
/// number of elements behind the other, as it is of different arguments. Of one in the loop and one
/// behind it, it must follow from their places; or both add to what is there.
bool stored_apart(const meaning::Meaning& meaning, const meaning::UserKernel& user, int a, int b);

/// Of a tile that is loaded once, outside the loop, and one that is stored behind it: do they lie
/// in one place, and is what is loaded used element by element for that store alone? Then each
/// element is stored when it has been loaded.
bool loaded_for_its_store(const meaning::Meaning& meaning, const meaning::UserKernel& user,
                          int loaded, int stored);

}  // namespace twill::emit
