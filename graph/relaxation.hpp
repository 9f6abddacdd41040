// When every schedule of a problem is one of another whose costs are smaller.
#pragma once

#include <optional>
#include <string>

#include "graph/problem.hpp"

namespace twill {

/// Is `loose` a relaxation of `tight`: does every schedule of `tight` keep all rules of `loose` at
/// the same I, with the same starts and slots? Nothing when it is (the proof is in the .cpp file),
/// else the first thing that keeps the proof from holding: then nothing is known.
std::optional<std::string> no_relaxation(const Problem& tight, const Problem& loose);

}  // namespace twill
