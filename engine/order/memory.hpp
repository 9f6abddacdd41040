// What a formula of the order engine takes, before it is made.
#pragma once

#include <cstdint>

#include "encoders/order/order.hpp"
#include "engine/budget.hpp"

namespace twill::order {

/// What a formula has: counted, by encoding it without keeping a clause.
struct FormulaCount {
  std::int64_t variables = 0, clauses = 0, literals = 0;
  std::int64_t atoms = 0, terms = 0;  ///< of difference logic; of its sums
  int nodes = 1;

  /// Bytes that the formula and its search take at most before the first conflict: what it is
  /// made from, the solver's lists and watches, and the closure of the difference logic with its
  /// way back. (What is learned comes to that: bench/results/hard.md has how much.)
  std::int64_t bytes() const;
};

/// Throws Budget::Spent where the budget is spent, or has no room for what was counted so far.
FormulaCount count_formula(const Problem& problem, const OrderRequest& request,
                           const EncodingChoice& choice, Budget& budget);

/// Is there no need to count, since formulas of so many ops are smaller than what the budget has
/// room for? By what a pair of ops took at most (kPairBytes).
bool fits_surely(const Problem& problem, Budget& budget);

}  // namespace twill::order
