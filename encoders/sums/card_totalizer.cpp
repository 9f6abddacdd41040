// Totalizer: Bailleux and Boufkhad, "Efficient CNF Encoding of Boolean Cardinality Constraints",
// CP 2003; the clauses of upper bounds only.
//
// A balanced binary tree over the literals, split floor(n/2) / ceil(n/2). Auxiliary variables:
// o_{node,j} = "at least j literals below the node are true", j = 1 .. size, for every inner node:
// n log2 n for n = 2^m. Clauses: (a + 1)(b + 1) - 1 per inner node with a and b literals below its
// children, plus one unit clause at the root. Unit propagation: consistent and arc consistent.
// Smaller bounds by assumption: any, of the same formula.
#include "encoders/sums/cardinality.hpp"
#include "encoders/sums/unary.hpp"

namespace twill {

LaterBound later_totalizer(Formula& f, std::span<const Lit> literals, std::int64_t upper) {
  return unary_bound(unary_count(f, literals, literals.size()), upper);
}

}  // namespace twill
