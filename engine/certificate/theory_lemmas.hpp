// The lemmas of difference logic that a search has used, and why they hold. It is noted while they
// are learned, so that a certificate can write it down.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "encoders/sinks.hpp"

namespace twill {

/// A step of the cycle of a lemma that is not a fact: what the negation of one of its literals
/// asserts, or a sum (DifferenceSum) with what the variables that are then true give it.
struct LemmaStep {
  int literal = 0;  ///< of the lemma; 0 = it is a sum
  int sum = -1;     ///< its index
};

/// The steps of lemmas by number, in the order in which the cycle passes them. Between two of them
/// goes a longest path of facts.
class LemmaSteps {
 public:
  // Of the next lemma.
  void add_literal(int literal) { steps_.push_back({literal, -1}); }
  void add_sum(int sum) { steps_.push_back({0, sum}); }
  void drop() { steps_.resize(lemmas() == 0 ? 0 : ends_.back()); }
  /// The next lemma has these.
  void close() { ends_.push_back(steps_.size()); }

  std::size_t lemmas() const { return ends_.size(); }
  std::span<const LemmaStep> of(std::size_t lemma) const {
    const std::size_t begin = lemma == 0 ? 0 : ends_[lemma - 1];
    return {steps_.data() + begin, ends_[lemma] - begin};
  }

 private:
  std::vector<LemmaStep> steps_;
  std::vector<std::size_t> ends_;
};

struct TheoryLemmas {
  MemoryCnf clauses;
  LemmaSteps steps;  ///< of all of them or, where nobody asked for them, of none
  /// Of those that are no cycles, by number: see lifetime_lemma.hpp.
  std::map<std::size_t, std::string> reasons;
};

}  // namespace twill
