// k-limited totalizer: Bailleux and Boufkhad, "Efficient CNF Encoding of Boolean Cardinality
// Constraints", CP 2003, outputs above k + 1 left out (Buettner and Rintanen, 2005; Koenig et al.,
// 2013).
//
// A balanced binary tree over the literals, split floor(n/2) / ceil(n/2). Auxiliary variables:
// o_{node,j} = "at least j literals below the node are true", j = 1 .. min(size, k + 1), for every
// inner node. Clauses: per inner node the pairs (i, j) != (0, 0) of child counts with
// i + j <= k + 1, plus one unit clause at the root. Unit propagation: consistent and arc
// consistent. Smaller bounds by assumption: any up to k.
#include "encoders/sums/cardinality.hpp"
#include "encoders/sums/unary.hpp"

namespace twill {

LaterBound later_ktotalizer(Formula& f, std::span<const Lit> literals, std::int64_t upper) {
  return unary_bound(unary_count(f, literals, static_cast<std::size_t>(upper) + 1), upper);
}

}  // namespace twill
