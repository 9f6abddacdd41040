// Pairwise (naive) at-most-one; folklore.
//
// Auxiliary variables: none. Clauses: n (n - 1) / 2, all binary.
// Unit propagation: consistent and arc consistent (one true literal falsifies every other).
#include "encoders/sums/at_most_one.hpp"

namespace twill {

void amo_pairwise(Formula& f, std::span<const Lit> literals) {
  for (std::size_t i = 0; i < literals.size(); ++i)
    for (std::size_t j = i + 1; j < literals.size(); ++j) f.clause({~literals[i], ~literals[j]});
}

}  // namespace twill
