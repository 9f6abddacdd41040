// Sequential counter LTSEQ: Sinz, "Towards an Optimal CNF Encoding of Boolean Cardinality
// Constraints", CP 2005.
//
// Auxiliary variables: s_{i,j} = "at least j of x_1 .. x_i are true", i = 1 .. n - 1, j = 1 .. k:
// k (n - 1). Clauses: 2 n k + n - 3 k - 1. Unit propagation: consistent and arc consistent.
//
// Smaller bounds by assumption need the row i = n that Sinz leaves out, and one column more, so
// that each row counts to upper + 1 =: m: m n variables and (2 n - 1) m clauses.
#include <vector>

#include "encoders/sums/cardinality.hpp"

namespace twill {

void card_seqcounter(Formula& f, std::span<const Lit> literals, std::int64_t k) {
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

LaterBound later_seqcounter(Formula& f, std::span<const Lit> literals, std::int64_t upper) {
  const auto width = static_cast<std::size_t>(upper) + 1;
  std::vector<Lit> before(width), here(width);
  for (Lit& l : before) l = f.fresh();
  f.implies(literals[0], before[0]);
  for (std::size_t j = 1; j < width; ++j) f.unit(~before[j]);
  for (std::size_t i = 1; i < literals.size(); ++i) {
    for (Lit& l : here) l = f.fresh();
    for (std::size_t j = 0; j < width; ++j) {
      f.implies(before[j], here[j]);
      f.implies(literals[i], j == 0 ? kTrueLit : before[j - 1], here[j]);
    }
    before.swap(here);
  }
  return unary_bound(before, upper);
}

}  // namespace twill
