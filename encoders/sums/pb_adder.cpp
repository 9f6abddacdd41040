// Adder: the weighted literals added up as a binary number, which is compared with k; Warners, "A
// Linear-Time Transformation of Linear Inequalities into Conjunctive Normal Form", IPL 1998; Een
// and Sorensson, JSAT 2006.
//
// Auxiliary variables: sum and carry of every full and half adder, equivalences. A bit with m > 0
// literals and carries has floor((m - 1) / 2) full adders and, for even m, a half adder, and sends
// floor(m / 2) carries. Clauses: 14 a full adder, 7 a half adder, and one per bit of the sum that
// is 0 in k. Unit propagation: neither consistent nor arc consistent. Smaller bounds: by more
// clauses of the last kind, for good.
#include "encoders/sums/binary_sum.hpp"
#include "encoders/sums/pseudo_boolean.hpp"

namespace twill {

LaterBound later_pb_adder(Formula& f, const PseudoBoolean& sum) {
  const Binary number = binary_sum(f, sum.terms);
  at_most_binary(f, number, sum.bound);
  return TightenableBound(sum.bound, [number](Formula& formula, std::int64_t bound) {
    at_most_binary(formula, number, bound);
  });
}

}  // namespace twill
