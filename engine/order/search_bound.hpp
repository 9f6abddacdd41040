// What an order searcher asks beside the clauses and the difference constraints: may what is
// assigned so far still be extended, and what follows from it? A bound that says no has a lemma.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

class SearchBound {
 public:
  virtual ~SearchBound() = default;

  /// Nothing is assigned, and the parameters are these. False = no extension.
  virtual bool reset(Cycle ii, Cycle deadline) = 0;
  /// The literal is true. False = no extension; then reset() or undo() comes next.
  virtual bool assign(int literal) = 0;
  /// A literal that follows from what is assigned, and from those before it in the same list. 0 =
  /// what is assigned cannot be extended. Why: explain(record), until undo() passes it.
  struct Implied {
    int literal = 0;
    int record = 0;
  };
  /// After assign(): appends what follows and is not assigned yet.
  virtual void propagate(std::vector<Implied>& /*implied*/) {}
  /// The false literals that, with the implied one, are a clause that holds always. Until the next
  /// propagate(), assign() or undo().
  virtual std::span<const int> explain(int /*record*/) const { return {}; }
  /// The clause that excludes what is assigned, after a false answer. Its literals are false.
  virtual std::span<const int> lemma() const = 0;
  /// Are its lemmas to be kept with the others, so that a refutation can be confirmed?
  virtual bool is_noted() const { return true; }
  /// Why the lemma holds, for the certificate ("" where nobody asks).
  virtual std::string reason() const = 0;

  /// A point to come back to, and the way back: to when there were `marks` of them.
  virtual void mark() = 0;
  virtual void undo(std::size_t marks) = 0;
};

}  // namespace twill
