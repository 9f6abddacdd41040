// Odd-even merge sorting network: Batcher, "Sorting Networks and their Applications", AFIPS 1968;
// as clauses: Een and Sorensson, "Translating Pseudo-Boolean Constraints into SAT", JSAT 2006.
//
// Auxiliary variables: the two outputs of each comparator, "a or b" and "a and b", in the direction
// from inputs to outputs. With C(n) = C(floor(n/2)) + C(ceil(n/2)) + M(floor(n/2), ceil(n/2))
// comparators, M(1, 1) = 1, M(0, b) = M(a, 0) = 0 and else M(a, b) = M(ceil(a/2), ceil(b/2)) +
// M(floor(a/2), floor(b/2)) + floor((a + b - 1) / 2): 2 C(n) variables and 3 C(n) + 1 clauses; for
// n = 2^m, C = n/4 m (m - 1) + n - 1. Unit propagation: consistent and arc consistent. Smaller
// bounds by assumption: any, of the same formula.
#include "encoders/sums/cardinality.hpp"
#include "encoders/sums/sorting.hpp"

namespace twill {

LaterBound later_sortnet(Formula& f, std::span<const Lit> literals, std::int64_t upper) {
  return unary_bound(odd_even_sort(f, literals), upper);
}

}  // namespace twill
