// Clauses and sums as linear constraints over 0-1 variables, for pseudo-Boolean and integer
// programming solvers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "encoders/formula.hpp"
#include "engine/budget.hpp"

namespace twill::bench {

class LinearSink : public ClauseSink {
 public:
  explicit LinearSink(Budget& budget) : budget_(budget) {}
  int new_variable() override { return ++variables_; }
  void add_clause(std::span<const int> literals) override;
  bool add_sum(std::span<const int> literals, std::span<const std::int64_t> weights,
               std::int64_t bound) override;
  int variables() const { return variables_; }
  std::int64_t constraints() const { return static_cast<std::int64_t>(constraints_.size()); }

  /// The format of the pseudo-Boolean competitions (Roussel and Manquinho, "Input/Output Format and
  /// Solver Requirements for the Competitions of Pseudo-Boolean Solvers", 2012); `comments` behind
  /// the first line.
  std::string opb(const std::vector<std::string>& comments) const;
  /// CPLEX's LP format; a negated literal is 1 - x. `comments` come first.
  std::string ilp(const std::vector<std::string>& comments) const;

 private:
  struct Constraint {  // sum of weight * literal >= right
    std::vector<std::pair<std::int64_t, int>> terms;
    std::int64_t right;
  };
  void add(Constraint constraint);
  Budget& budget_;
  int variables_ = 0;
  std::vector<Constraint> constraints_;
};

}  // namespace twill::bench
