// k-limited totalizer: Bailleux and Boufkhad, "Efficient CNF Encoding of Boolean Cardinality
// Constraints", CP 2003, outputs above k + 1 left out (Buettner and Rintanen, 2005).
//
// A balanced binary tree over the literals, split floor(n/2) / ceil(n/2). Auxiliary variables:
// o_{node,j} = "at least j literals below the node are true", j = 1 .. min(size, k + 1), for every
// inner node. Clauses: per inner node the pairs (i, j) != (0, 0) of child counts with
// i + j <= k + 1, plus one unit clause at the root, for 1 <= k < n.
// k = 0 gives n unit clauses, k >= n none. Unit propagation: consistent and arc consistent.
#include <algorithm>
#include <vector>

#include "encoders/cardinality.hpp"

namespace twill {
namespace {

std::vector<Lit> count(Formula& f, std::span<const Lit> literals, std::size_t limit) {
  if (literals.size() == 1) return {literals[0]};
  const std::size_t half = literals.size() / 2;
  const std::vector<Lit> left = count(f, literals.first(half), limit);
  const std::vector<Lit> right = count(f, literals.subspan(half), limit);
  std::vector<Lit> out(std::min(literals.size(), limit));
  for (Lit& l : out) l = f.fresh();
  for (std::size_t i = 0; i <= left.size(); ++i)
    for (std::size_t j = i == 0 ? 1 : 0; j <= right.size() && i + j <= limit; ++j)
      f.clause({i ? ~left[i - 1] : kFalseLit, j ? ~right[j - 1] : kFalseLit, out[i + j - 1]});
  return out;
}

}  // namespace

void card_totalizer(Formula& f, std::span<const Lit> literals, std::int64_t k) {
  if (k < 0) return f.clause({});
  if (k >= static_cast<std::int64_t>(literals.size())) return;
  if (k == 0) {
    for (const Lit l : literals) f.unit(~l);
    return;
  }
  f.unit(~count(f, literals, static_cast<std::size_t>(k) + 1).back());
}

}  // namespace twill
