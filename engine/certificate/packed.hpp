// The argument of graph/bounds/packing.cpp a second time, by other code (counting.hpp).
#pragma once

#include <vector>

#include "engine/certificate/forced.hpp"
#include "graph/problem.hpp"
#include "graph/wide.hpp"

namespace twill {

/// Do results, each live for as long as paths of dependences ask for at `ii`, overfill slots or a
/// memory? Then they do so at every smaller interval, too. Precondition: no cycle of dependences
/// gains time at `ii`.
bool packing_exceeded(const Problem& problem, const Forced& forced, Cycle ii);

/// In the place of amounts: what fits in a bin weighs no more than `most`.
struct BinWeights {
  Wide most = 0;
  std::vector<Wide> of;  ///< each amount
};
/// The amounts themselves, and where the bin is small other weights.
std::vector<BinWeights> weights_in(const std::vector<Amount>& amounts, Amount bin);

}  // namespace twill
