// Two-product at-most-one: Chen, "A New SAT Encoding of the At-Most-One Constraint", ModRef 2010.
//
// The literals fill a p x q grid, p = ceil(sqrt(n)), q = ceil(n / p), row by row.
// Auxiliary variables: u_i = "a literal of row i is true", v_j = "a literal of column j is true";
// p + q of them, plus those of the two sub-constraints. Clauses: C(n) = 2 n + C(p) + C(q), and
// pairwise, n (n - 1) / 2, for n <= 4. Unit propagation: consistent and arc consistent.
#include <cmath>
#include <vector>

#include "encoders/sums/at_most_one.hpp"

namespace twill {

void amo_product(Formula& f, std::span<const Lit> literals) {
  const std::size_t n = literals.size();
  if (n <= 4) return amo_pairwise(f, literals);
  std::size_t columns = 1;
  while (columns * columns < n) ++columns;
  const std::size_t rows = (n + columns - 1) / columns;
  std::vector<Lit> row(rows), column(columns);
  for (Lit& l : row) l = f.fresh();
  for (Lit& l : column) l = f.fresh();
  for (std::size_t i = 0; i < n; ++i) {
    f.implies(literals[i], row[i / columns]);
    f.implies(literals[i], column[i % columns]);
  }
  amo_product(f, row);
  amo_product(f, column);
}

}  // namespace twill
