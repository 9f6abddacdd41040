// Global polynomial watchdog: Bailleux, Boufkhad and Roussel, "New Encodings of Pseudo-Boolean
// Constraints into CNF", SAT 2009, with k-limited totalizers.
//
// The terms and a constant tare T that brings k + 1 to m 2^p, p the highest bit of the weights, are
// counted by bits in unary (watchdog.hpp): the sum exceeds k if and only if the last bucket has m.
// Auxiliary variables: the outputs of the buckets' trees and of the merges with the carried halves,
// bucket b up to min(m 2^(p-b), 2 n + 2): O(n log n log W). Clauses: the pairs of each node, and a
// unit clause that the m-th output of the last bucket is false. Unit propagation: consistent, not
// arc consistent. The tare is for one bound.
#include "encoders/sums/pseudo_boolean.hpp"
#include "encoders/sums/watchdog.hpp"

namespace twill {

void pb_gpw(Formula& f, const PseudoBoolean& sum) {
  f.unit(~watchdog(f, sum.terms, sum.bound));
}

}  // namespace twill
