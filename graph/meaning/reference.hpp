// What a loop computes, iteration by iteration, in double precision; and how far an execution may
// be from it whose every step is rounded to its type. Says nothing of schedules, and shares no
// arithmetic with tile_functions.hpp.
//
// The bound of an element is a running error analysis (Wilkinson, "Rounding Errors in Algebraic
// Processes", 1963; Higham, "Accuracy and Stability of Numerical Algorithms", 2002, 3.3): what the
// operands may be wrong by, taken through the function, and one rounding of the function's type.
// Sums of K terms may be in any order (gamma_K). It holds to the last digit but for what double
// precision itself loses, which a factor of 1 + 2^-20 takes in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/meaning/meaning.hpp"
#include "graph/meaning/tile_functions.hpp"

namespace twill::meaning {

/// Per tensor its tiles: n of one that is used in the loop, else one; none of outputs.
using TensorTiles = std::vector<std::vector<Numbers>>;

/// Numbers of the type of each tensor, spread over its range, the same for a seed everywhere.
TensorTiles seeded_inputs(const Meaning& meaning, int n, std::uint64_t seed);

/// An element may be wrong by so much; infinite where nothing can be said but, perhaps, that no
/// execution has less than `least`: what is too large for its type, whose inverse is near 0.
struct Bounded {
  Numbers value, error;
  std::vector<double> least = {};  ///< per element; empty = none is known
};

/// Per tensor that is stored to, its tiles. `inputs` as seeded_inputs().
std::vector<std::vector<Bounded>> reference(const Meaning& meaning, int n,
                                            const TensorTiles& inputs);

/// How an execution's result lies to the reference.
struct Comparison {
  std::string tensor;
  double largest_error = 0;  ///< |result - reference|, over all elements; NaN where one is none
  double bound = 0;          ///< the largest of all bounds
  double largest_share = 0;  ///< error / bound, the largest: up to 1 is right
  std::int64_t compared = 0, wrong = 0;  ///< elements
  std::int64_t unbounded = 0;            ///< of the wrong ones, those whose bound is infinite
  std::int64_t no_number = 0;            ///< of those compared, NaN in both, where that is allowed
};
/// Of each output. A number that is missing, NaN, or infinite in one alone is wrong; so is one
/// whose bound is infinite: then the loop is too long or its numbers too large for its types.
/// `may_be_none`: the reference is what a kernel of somebody's does, who may divide by 0 (a softmax
/// of nothing); where it is NaN, the outputs must be NaN too.
std::vector<Comparison> compare_with(const Meaning& meaning,
                                     const std::vector<std::vector<Bounded>>& reference,
                                     const TensorTiles& outputs, bool may_be_none = false);
bool all_right(const std::vector<Comparison>& all);

}  // namespace twill::meaning
