// Generalized totalizer over groups of mutually exclusive literals, PB(AMO): Bofill, Coll,
// Nightingale, Suy, Ulrich-Oltean and Villaret, "SAT Encodings for Pseudo-Boolean Constraints
// Together With At-Most-One Constraints", Artificial Intelligence 302 (2022).
//
// The tree of pb_gte.cpp with one leaf a group. Auxiliary variables: in a leaf one per weight that
// several literals have (with a clause for each of them), the literal itself serves else; in inner
// nodes those of pb_gte.cpp, and its clauses. Unit propagation: consistent and arc consistent.
#include <vector>

#include "encoders/sums/pseudo_boolean.hpp"
#include "encoders/sums/weight_tree.hpp"

namespace twill {

void pb_gte_amo(Formula& f, const GroupedSum& sum) {
  std::vector<WeightedOutputs> leaves;
  for (const auto& group : sum.groups) {
    leaves.emplace_back();
    for (const GroupedSum::Level& level : group) {
      Lit output = level.literals.front();
      if (level.literals.size() > 1) {
        output = f.fresh();
        for (const Lit x : level.literals) f.implies(x, output);
      }
      leaves.back().emplace(level.weight, output);
    }
  }
  const WeightedOutputs root = weight_tree(f, leaves, sum.bound + 1);
  f.unit(~root.rbegin()->second);
}

}  // namespace twill
