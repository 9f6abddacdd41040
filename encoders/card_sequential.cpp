// Sequential counter LTSEQ: Sinz, "Towards an Optimal CNF Encoding of Boolean Cardinality
// Constraints", CP 2005.
//
// Auxiliary variables: s_{i,j} = "at least j of x_1 .. x_i are true", i = 1 .. n - 1, j = 1 .. k:
// k (n - 1). Clauses: 2 n k + n - 3 k - 1, for 1 <= k < n. k = 0 gives n unit clauses, k >= n none.
// Unit propagation: consistent and arc consistent.
#include <vector>

#include "encoders/cardinality.hpp"

namespace twill {

void card_sequential(Formula& f, std::span<const Lit> literals, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(literals.size());
  if (k < 0) return f.clause({});
  if (k >= n) return;
  if (k == 0) {
    for (const Lit l : literals) f.unit(~l);
    return;
  }
  const auto width = static_cast<std::size_t>(k);
  std::vector<Lit> before(width), here(width);
  for (Lit& l : before) l = f.fresh();
  f.implies(literals[0], before[0]);
  for (std::size_t j = 1; j < width; ++j) f.unit(~before[j]);
  for (std::size_t i = 1; i + 1 < literals.size(); ++i) {
    for (Lit& l : here) l = f.fresh();
    f.implies(literals[i], here[0]);
    f.implies(before[0], here[0]);
    for (std::size_t j = 1; j < width; ++j) {
      f.implies(literals[i], before[j - 1], here[j]);
      f.implies(before[j], here[j]);
    }
    f.implies(literals[i], ~before[width - 1]);
    before.swap(here);
  }
  f.implies(literals.back(), ~before[width - 1]);
}

}  // namespace twill
