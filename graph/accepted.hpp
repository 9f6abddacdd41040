// The precondition of most functions that take a problem, for their asserts.
#pragma once

#include "graph/check.hpp"

namespace twill {

/// Does check() accept the problem? It looks at all of the problem: not for code that runs often.
inline bool accepted(const Problem& problem) {
  try {
    check(problem);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace twill
