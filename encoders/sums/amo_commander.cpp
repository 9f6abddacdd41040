// Commander at-most-one: Klieber and Kwon, "Efficient CNF Encoding for Selecting 1 from N Objects",
// CFV 2007, with groups of three.
//
// The literals are cut into groups of three in their order; a last group of one is its own
// commander. Auxiliary variables: c_g = "a literal of group g is true", for every group of two or
// three; at most one of the commanders is true, by the same encoding. Clauses of a group of size s:
// s (s - 1) / 2 pairs, s for x -> c_g and one for c_g -> some x, so with r = n mod 3: V(n) =
// floor(n/3) + [r = 2] + V(ceil(n/3)) and C(n) = 7 floor(n/3) + 4 [r = 2] + C(ceil(n/3)); pairwise,
// n (n - 1) / 2, for n <= 4. Unit propagation: consistent and arc consistent.
#include <algorithm>
#include <vector>

#include "encoders/sums/at_most_one.hpp"

namespace twill {

void amo_commander(Formula& f, std::span<const Lit> literals) {
  constexpr std::size_t kGroup = 3;
  if (literals.size() <= 4) return amo_pairwise(f, literals);
  std::vector<Lit> commanders;
  for (std::size_t begin = 0; begin < literals.size(); begin += kGroup) {
    const auto group = literals.subspan(begin, std::min(kGroup, literals.size() - begin));
    if (group.size() == 1) {
      commanders.push_back(group[0]);
      continue;
    }
    const Lit commander = f.fresh();
    amo_pairwise(f, group);
    std::vector<Lit> some = {~commander};
    for (const Lit l : group) {
      f.implies(l, commander);
      some.push_back(l);
    }
    f.clause(some);
    commanders.push_back(commander);
  }
  amo_commander(f, commanders);
}

}  // namespace twill
