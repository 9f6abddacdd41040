// Small register pools for random loops, and all their splits.
#pragma once

#include <vector>

#include "graph/register_pool.hpp"
#include "tests/support/random_loop.hpp"

namespace twill::test {

/// A pool over the slots of a loop, some of which share a count.
RegisterPool random_pool(const Problem& problem, Random& random);

/// The most that each share has in any split.
RegisterCounts most(const RegisterPool& pool);

/// Every split, maximal or not.
std::vector<RegisterCounts> all_splits(const RegisterPool& pool);

}  // namespace twill::test
