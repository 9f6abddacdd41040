// Generalized totalizer: Joshi, Martins and Manquinho, "Generalized Totalizer Encoding for
// Pseudo-Boolean Constraints", CP 2015.
//
// A balanced binary tree over the terms in the order of their weights. Auxiliary variables of an
// inner node: o_s = "the terms below weigh at least s", for every different sum s <= k that some of
// them have, and one for all sums above k. Clauses of a node whose children have a and b outputs:
// a + b + a b; at the root the unit clause of the sums above k. Unit propagation: consistent and
// arc consistent. Exponential in the worst case (many different weights). Smaller bounds by
// assumption: the outputs of the root above the bound, all false.
#include <vector>

#include "encoders/sums/pseudo_boolean.hpp"
#include "encoders/sums/weight_tree.hpp"

namespace twill {

LaterBound later_gte(Formula& f, const PseudoBoolean& sum) {
  std::vector<WeightedOutputs> leaves;
  for (const Term& t : sum.terms) leaves.push_back({{t.weight, t.literal}});
  const WeightedOutputs root = weight_tree(f, leaves, sum.bound + 1);
  return AssumableBound(sum.bound, true, [root](std::int64_t bound) {
    std::vector<Lit> literals;
    for (auto above = root.upper_bound(bound); above != root.end(); ++above)
      literals.push_back(~above->second);
    return literals;
  });
}

}  // namespace twill
