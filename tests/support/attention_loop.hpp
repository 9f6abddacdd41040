// The nine attention loops as problems, without the project's own lowering.
#pragma once

#include <string>
#include <vector>

#include "graph/problem.hpp"

namespace twill::test {

/// Names of the loops in DATA/kernels.
const std::vector<std::string>& attention_loops();

/// A loop of the test data directory `data` (TWILL_TEST_DATA), at raw cycles on slots of the
/// paper's kind: a load slot, one-warp slots, and consumer slots of 8 (if any op needs 8) and 4
/// warps, so that 8-warp ops have exactly one slot. Loads without inputs are streaming.
Problem attention_loop(const std::string& data, const std::string& name);

}  // namespace twill::test
