// Sequential weighted counter over groups of mutually exclusive literals, PB(AMO): Bofill, Coll,
// Nightingale, Suy, Ulrich-Oltean and Villaret, "SAT Encodings for Pseudo-Boolean Constraints
// Together With At-Most-One Constraints", Artificial Intelligence 302 (2022); the counter is that
// of pb_swc.cpp with one row a group.
//
// Auxiliary variables: s_{i,j} = "the first i groups weigh at least j", i = 1 .. g - 1, j = 1 .. k:
// (g - 1) k for g groups. Clauses: (g - 2) k for s_{i-1,j} -> s_{i,j}; per literal x of weight w in
// group i: w for x -> s_{i,j} (i < g), k - w for x and s_{i-1,j} -> s_{i,j+w} (1 < i < g), one for
// x -> not s_{i-1,k+1-w} (1 < i). Unit propagation: consistent and arc consistent.
#include <vector>

#include "encoders/sums/pseudo_boolean.hpp"

namespace twill {

void pb_swc_amo(Formula& f, const GroupedSum& sum) {
  const auto k = static_cast<std::size_t>(sum.bound);
  std::vector<Lit> before, here(k);
  for (std::size_t i = 0; i < sum.groups.size(); ++i) {
    const bool first = i == 0, last = i + 1 == sum.groups.size();
    if (!last)
      for (Lit& l : here) l = f.fresh();
    for (std::size_t j = 0; j < k && !first && !last; ++j) f.implies(before[j], here[j]);
    for (const GroupedSum::Level& level : sum.groups[i]) {
      const auto weight = static_cast<std::size_t>(level.weight);
      for (const Lit x : level.literals) {
        if (!first) f.implies(x, ~before[k - weight]);
        if (last) continue;
        for (std::size_t j = 0; j < weight; ++j) f.implies(x, here[j]);
        for (std::size_t j = 0; j + weight < k && !first; ++j)
          f.implies(x, before[j], here[j + weight]);
      }
    }
    before = here;
  }
}

}  // namespace twill
