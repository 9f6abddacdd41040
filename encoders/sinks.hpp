// Clause sinks without a solver: memory, a counter, a DIMACS file.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "encoders/formula.hpp"

namespace twill {

/// Clauses in memory, flat: literals of clause i are [begin(i), begin(i + 1)).
class MemoryCnf : public ClauseSink {
 public:
  void reserve(std::size_t clauses, std::size_t literals) {
    ends_.reserve(clauses);
    literals_.reserve(literals);
  }
  int new_variable() override { return ++variables_; }
  void add_clause(std::span<const int> literals) override {
    literals_.insert(literals_.end(), literals.begin(), literals.end());
    ends_.push_back(literals_.size());
  }
  int variables() const { return variables_; }
  std::size_t clauses() const { return ends_.size(); }
  std::span<const int> clause(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {literals_.data() + begin, ends_[i] - begin};
  }
  /// "p cnf V C" and the clauses; `comments` become "c ..." lines before the header.
  void write_dimacs(std::ostream& out, const std::vector<std::string>& comments = {}) const;

 private:
  int variables_ = 0;
  std::vector<int> literals_;
  std::vector<std::size_t> ends_;
};

/// Counts and stores nothing: sizes before anything is built.
class CountingSink : public ClauseSink {
 public:
  int new_variable() override { return ++variables_; }
  void add_clause(std::span<const int> literals) override {
    ++clauses_;
    literals_ += static_cast<std::int64_t>(literals.size());
  }
  int variables() const { return variables_; }
  std::int64_t clauses() const { return clauses_; }
  std::int64_t literals() const { return literals_; }

 private:
  int variables_ = 0;
  std::int64_t clauses_ = 0, literals_ = 0;
};

/// Writes clauses to a stream as they come, in DIMACS. The header needs the counts, so the caller
/// gives them (a CountingSink has them) or writes its own.
class DimacsWriter : public ClauseSink {
 public:
  explicit DimacsWriter(std::ostream& out) : out_(out) {}
  DimacsWriter(std::ostream& out, std::int64_t variables, std::int64_t clauses);
  int new_variable() override { return ++variables_; }
  void add_clause(std::span<const int> literals) override;

 private:
  std::ostream& out_;
  int variables_ = 0;
};

}  // namespace twill
