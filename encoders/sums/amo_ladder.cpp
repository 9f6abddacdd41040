// Ladder (sequential) at-most-one: Sinz, "Towards an Optimal CNF Encoding of Boolean Cardinality
// Constraints", CP 2005, with k = 1; the ladder of Gent and Nightingale, 2004.
//
// Auxiliary variables: s_i = "one of x_1 .. x_i is true", i = 1 .. n - 1. Clauses: 3 n - 4 for
// n >= 2. Unit propagation: consistent and arc consistent.
#include "encoders/sums/at_most_one.hpp"

namespace twill {

void amo_ladder(Formula& f, std::span<const Lit> literals) {
  const std::size_t n = literals.size();
  Lit before = f.fresh();
  f.implies(literals[0], before);
  for (std::size_t i = 1; i + 1 < n; ++i) {
    const Lit up_to_here = f.fresh();
    f.implies(literals[i], up_to_here);
    f.implies(before, up_to_here);
    f.implies(before, ~literals[i]);
    before = up_to_here;
  }
  f.implies(before, ~literals[n - 1]);
}

}  // namespace twill
