// Cost normalisation: smaller integer costs whose ratios stay close to those of the original ones.
//
// Source: Soi et al. (arXiv:2512.18134), Section 5.2: minimise F subject to
// -F <= C[i] C'[j] - C[j] C'[i] <= F for all i, j and 1 <= sum C' <= U. Taken literally, with every
// occurrence of a cost counted, this drives small costs to 0; here each distinct positive cost
// counts once and stays positive. Two problems normalised differently have incomparable I.
#pragma once

#include <vector>

#include "graph/problem.hpp"

namespace twill {

enum class NormalizeObjective {
  absolute,  ///< the paper's F
  relative,  ///< max over ordered pairs of |(C'[i] / C'[j]) / (C[i] / C[j]) - 1|
};

struct Normalization {
  std::vector<Cycle> before;  ///< distinct costs, largest first
  std::vector<Cycle> after;   ///< their C', same order
  Cycle before_sum = 0, after_sum = 0;
};

/// One ordered pair of costs and how far its ratio moved.
struct RatioError {
  Cycle numerator = 0, denominator = 0;          ///< before
  Cycle new_numerator = 0, new_denominator = 0;  ///< after
  double error = 0;                              ///< (new ratio / old ratio) - 1
};

/// The optimum: least objective; then the largest sum <= budget; then the lexicographically largest
/// C' from the largest cost down. Exact integer arithmetic, deterministic for any number of
/// threads. `costs` may hold duplicates; all must be in [1, kMaxCycles]. Throws InputError when
/// `budget` is smaller than the number of distinct costs. No costs give an empty result.
Normalization normalize_costs(const std::vector<Cycle>& costs, int budget,
                              NormalizeObjective objective);

/// The paper's F of a normalisation, saturated at 2^63 - 1.
Cycle absolute_error(const Normalization& n);

/// All ordered pairs of different costs.
std::vector<RatioError> ratio_errors(const Normalization& n);

}  // namespace twill
