// Unit propagation and a complete search over a formula in memory: what the tests of the encodings
// measure propagation strength with. Small and plain; shares nothing with the solver.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "encoders/sinks.hpp"

namespace twill::test {

/// Truth values of variables 1 .. n: 1, -1, or 0 for open.
class Assignment {
 public:
  explicit Assignment(int variables) : value_(static_cast<std::size_t>(variables) + 1, 0) {}
  /// Of a DIMACS literal or of a constant: 1 true, -1 false, 0 open.
  int of(int literal) const {
    const int v = value_[static_cast<std::size_t>(literal < 0 ? -literal : literal)];
    return literal < 0 ? -v : v;
  }
  int of(Lit literal) const {
    if (literal.is_constant()) return literal.is_true() ? 1 : -1;
    return of(literal.dimacs());
  }
  void set(int literal) {
    value_[static_cast<std::size_t>(literal < 0 ? -literal : literal)] = literal < 0 ? -1 : 1;
  }

 private:
  std::vector<int> value_;
};

/// The closure of the assumptions under unit propagation; nullopt = a clause became empty.
std::optional<Assignment> propagate(const MemoryCnf& cnf, std::span<const Lit> assumptions);

/// Has the formula a model under the assumptions? Davis, Logemann and Loveland 1962.
bool satisfiable(const MemoryCnf& cnf, std::span<const Lit> assumptions);

}  // namespace twill::test
