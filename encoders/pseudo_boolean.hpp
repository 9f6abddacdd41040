// Pseudo-Boolean constraints, sum of weight * literal <= k: one encoding a file, pb_<name>.cpp.
// Encodings take the canonical form only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encoders/formula.hpp"

namespace twill {

struct Term {
  std::int64_t weight = 1;
  Lit literal;
  bool operator==(const Term&) const = default;
};

/// Canonical form: literals are distinct variables, 0 < weight <= bound, weights descending (ties
/// by literal), gcd 1, the sum of weights above the bound. No terms = nothing left to say, unless
/// bound < 0: then the constraint is false.
struct PseudoBoolean {
  std::vector<Term> terms;
  std::int64_t bound = 0;
};

/// Canonical form of sum <= bound, weights >= 0. Folds constants, merges equal literals, cancels
/// x against ~x, and emits ~x for every term heavier than the bound.
PseudoBoolean canonical(Formula& f, std::span<const Term> terms, std::int64_t bound);

void pb_bdd(Formula& f, const PseudoBoolean& sum);
void pb_swc(Formula& f, const PseudoBoolean& sum);

/// Nodes of pb_bdd's diagram, counted up to `limit`.
std::int64_t pb_bdd_nodes(const PseudoBoolean& sum, std::int64_t limit);

}  // namespace twill
