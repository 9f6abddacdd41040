// Values of a loop that no op runs and that are made of nothing that an op makes: of the launch, of
// memory and of each other alone. Whoever uses one can compute it, in every iteration.
#pragma once

#include <vector>

#include "graph/meaning/meaning.hpp"

namespace twill::meaning {

/// Per value: is it one? `runner`: per value the op that runs it, -1 = none.
std::vector<bool> lone_views(const Meaning& meaning, const std::vector<int>& runner);

}  // namespace twill::meaning
