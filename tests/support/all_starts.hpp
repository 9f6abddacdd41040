// Trying all starts of a few ops.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/problem.hpp"

namespace twill::test {

/// Calls tried(starts) for every vector of `ops` starts in [0, end).
template <class Tried>
void for_all_starts(std::size_t ops, Cycle end, const Tried& tried) {
  std::vector<Cycle> start(ops, 0);
  for (;;) {
    tried(start);
    std::size_t v = 0;
    while (v < ops && ++start[v] == end) start[v++] = 0;
    if (v == ops) return;
  }
}

}  // namespace twill::test
