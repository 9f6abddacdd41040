// Sequential weighted counter: Hoelldobler, Manthey and Steinke, "A Compact Encoding of
// Pseudo-Boolean Constraints into SAT", KI 2012.
//
// Auxiliary variables: s_{i,j} = "the first i terms weigh at least j", i = 1 .. n - 1, j = 1 .. k:
// (n - 1) k. Clauses: (n - 2) k for s_{i-1,j} -> s_{i,j}, the sum of w_i over
// i < n for x_i -> s_{i,j}, the sum of (k - w_i) over 1 < i < n for x_i and s_{i-1,j} ->
// s_{i,j+w_i}, and n - 1 for x_i -> not s_{i-1,k+1-w_i}. Unit propagation: consistent and arc
// consistent.
//
// Smaller bounds by assumption need the row i = n and the column m = k + 1, where heavier sums end:
// n m variables; (n - 1) m clauses of the first kind, the sum of w_i, and the sum over i > 1 of m
// for x_i and s_{i-1,j} -> s_{i,min(j+w_i,m)}.
#include <algorithm>
#include <vector>

#include "encoders/sums/pseudo_boolean.hpp"

namespace twill {

void pb_swc(Formula& f, const PseudoBoolean& sum) {
  const auto k = static_cast<std::size_t>(sum.bound);
  std::vector<Lit> before, here(k);
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    const Lit x = sum.terms[i].literal;
    const auto weight = static_cast<std::size_t>(sum.terms[i].weight);
    if (i > 0) f.implies(x, ~before[k - weight]);
    if (i + 1 == sum.terms.size()) break;
    for (Lit& l : here) l = f.fresh();
    for (std::size_t j = 0; j < k; ++j) {
      if (i > 0) f.implies(before[j], here[j]);
      if (j < weight) f.implies(x, here[j]);
      if (i > 0 && j + weight < k) f.implies(x, before[j], here[j + weight]);
    }
    before.swap(here);
    here.resize(k);
  }
}

LaterBound later_swc(Formula& f, const PseudoBoolean& sum) {
  const auto width = static_cast<std::size_t>(sum.bound) + 1;
  std::vector<Lit> before(width, kFalseLit), here(width);
  for (const Term& t : sum.terms) {
    const auto weight = static_cast<std::size_t>(t.weight);
    for (Lit& l : here) l = f.fresh();
    for (std::size_t j = 0; j < width; ++j) {
      f.implies(before[j], here[j]);
      if (j < weight) f.implies(t.literal, here[j]);
      f.implies(t.literal, before[j], here[std::min(j + weight, width - 1)]);
    }
    before = here;
  }
  return AssumableBound(sum.bound, true, [before](std::int64_t bound) -> std::vector<Lit> {
    return {~before[static_cast<std::size_t>(bound)]};
  });
}

}  // namespace twill
