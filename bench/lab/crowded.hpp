// Seeded loops whose sums are long: many ops share units of many instances, a memory and register
// files, so that at every residue a dozen ops and more may be at work.
#pragma once

#include <cstdint>

#include "graph/problem.hpp"

namespace twill::bench {

struct CrowdedLoop {
  std::uint64_t seed = 1;
  int ops = 20;         ///< 2 .. 1,000
  Amount heaviest = 1;  ///< of a unit, a memory and registers an op takes 1 .. heaviest; 1: all
                        ///< sums are cardinalities
};

/// Passes check(); every reservation begins at its op's issue (monotone_in_ii). The same on every
/// machine. Throws InputError when a knob is out of range.
Problem crowded_loop(const CrowdedLoop& knobs);

}  // namespace twill::bench
