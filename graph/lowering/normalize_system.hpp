// The conditions of cost normalisation at one tolerance, and their least and greatest solutions.
#pragma once

#include <vector>

#include "graph/lowering/normalize.hpp"
#include "graph/wide.hpp"

namespace twill {

/// How much two costs may disagree. All products stay below 2^127: costs are < 2^30, C' < 2^31,
/// `numerator` and `denominator` < 2^62.
struct NormalizeTolerance {
  NormalizeObjective objective = NormalizeObjective::absolute;
  Wide f = 0;                           ///< absolute
  Wide numerator = 1, denominator = 1;  ///< relative: the largest allowed quotient of ratios
  bool strict = false;                  ///< relative: must stay below it

  /// Smallest C'[j] that goes with C'[i] = x, for costs ci and cj.
  Wide least(Wide ci, Wide cj, Wide x) const;
  /// Largest such C'[j].
  Wide greatest(Wide ci, Wide cj, Wide x) const;
};

/// The system of conditions for all pairs of `costs`, with 1 <= C' and sum C' <= budget.
class NormalizeSystem {
 public:
  /// `costs` outlives this.
  NormalizeSystem(const std::vector<Cycle>& costs, Cycle budget, NormalizeTolerance tolerance)
      : costs_(costs), budget_(budget), tolerance_(tolerance) {}

  /// Raises `low` to the least solution above it; false when its sum exceeds the budget.
  bool raise(std::vector<Cycle>& low) const;

  /// Lowers `high` to the greatest solution below it; false when a bound falls below 1.
  bool lower(std::vector<Cycle>& high) const;

  /// Is there any solution? Then `least` becomes the least one.
  bool feasible(std::vector<Cycle>* least = nullptr) const;

 private:
  const std::vector<Cycle>& costs_;
  Cycle budget_;
  NormalizeTolerance tolerance_;
};

}  // namespace twill
