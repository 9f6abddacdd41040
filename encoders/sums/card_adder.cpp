// Adder: the literals added up as a binary number, which is compared with k; Warners, "A
// Linear-Time Transformation of Linear Inequalities into Conjunctive Normal Form", IPL 1998; Een
// and Sorensson, JSAT 2006.
//
// Auxiliary variables: sum and carry of every full and half adder, equivalences. A bit with m > 0
// literals and carries has floor((m - 1) / 2) full adders and, for even m, a half adder, and sends
// floor(m / 2) carries: fewer than 2 n variables in all. Clauses: 14 a full adder, 7 a half adder,
// and one per bit of the sum that is 0 in k. Unit propagation: neither consistent nor arc
// consistent. Smaller bounds: by more clauses of the last kind, for good.
#include <vector>

#include "encoders/sums/binary_sum.hpp"
#include "encoders/sums/cardinality.hpp"

namespace twill {

LaterBound later_card_adder(Formula& f, std::span<const Lit> literals, std::int64_t upper) {
  std::vector<Term> terms;
  for (const Lit l : literals) terms.push_back({1, l});
  const Binary sum = binary_sum(f, terms);
  at_most_binary(f, sum, upper);
  return TightenableBound(
      upper, [sum](Formula& formula, std::int64_t bound) { at_most_binary(formula, sum, bound); });
}

}  // namespace twill
