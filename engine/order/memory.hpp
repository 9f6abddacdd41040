// What a formula of the order engine takes, counted as it is made.
#pragma once

#include <cstdint>
#include <span>

#include "encoders/order/order.hpp"
#include "engine/budget.hpp"

namespace twill::order {

/// What a formula has.
struct FormulaCount {
  std::int64_t variables = 0, clauses = 0, literals = 0;
  std::int64_t atoms = 0, terms = 0;  ///< of difference logic; of its sums
  int nodes = 1;

  /// Bytes that the formula and its search take at most before the first conflict: what it is
  /// made from, the solver's lists and watches, and search_bytes().
  std::int64_t bytes() const;
  /// Of these what its search takes once it is made: the closure of the difference logic with its
  /// way back, and its lists of atoms.
  std::int64_t search_bytes() const;
  /// What is learned comes to that and takes at most so much, of a limit on memory (0 = none): half
  /// of what the formula leaves, since there may be another formula beside it, from kLeastLearned
  /// to kMostLearned. It does not depend on what the process has. (The program's own limit grows
  /// with the number of threads, from 2 GiB: there a formula of at most 1 GiB has kMostLearned with
  /// any.)
  std::int64_t learned_bytes(std::int64_t memory_limit) const;
  static constexpr std::int64_t kLeastLearned = 16 << 20, kMostLearned = 512 << 20;
};

/// On the way of clauses to a solver: counts them, and ends the work once the budget has no room
/// for what was counted so far and is not taken yet.
class CountedClauses final : public ClauseSink {
 public:
  /// Throws Budget::Spent where there is no room for the closure of so many ops' rows. Both must
  /// outlive it.
  CountedClauses(ClauseSink& solver, Budget& budget, const Problem& problem,
                 const OrderRequest& request);
  int new_variable() override;
  void add_clause(std::span<const int> literals) override;
  void poll() override;
  void expect(double variables, double clauses, double bytes) override;

  /// The formula is made, and what the search takes beside it is known. Throws Budget::Spent where
  /// the budget has no room for that.
  void complete(const Differences& rows);
  const FormulaCount& count() const { return count_; }

 private:
  void look();

  ClauseSink& solver_;
  Budget& budget_;
  std::int64_t before_;  // bytes of the process
  FormulaCount count_;
};

}  // namespace twill::order
