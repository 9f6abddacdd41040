// Reduced ordered MDD of a sum over groups of mutually exclusive literals, PB(AMO): Bofill, Coll,
// Suy and Villaret, "Compact MDDs for Pseudo-Boolean Constraints with At-Most-One Relations and
// Application to Scheduling Problems", IJCAI 2017.
//
// One level a group. Auxiliary variables: one per inner node, "the groups i, i+1, ... sum to at
// most the remaining bound". Clauses of a node: n -> its child without a true literal, and n and x
// -> its child with x, less those whose consequence is true or the same as without; plus one unit
// clause for the root. Unit propagation: consistent and arc consistent. With one literal a group
// this is pb_bdd.
#include "encoders/sums/pb_diagram.hpp"
#include "encoders/sums/pseudo_boolean.hpp"

namespace twill {

void pb_bdd_amo(Formula& f, const GroupedSum& sum) {
  DiagramWeights weights;
  for (const auto& group : sum.groups) {
    weights.begin_level();
    for (const GroupedSum::Level& level : group) weights.add(level.weight);
  }
  SumDiagram diagram(std::move(weights),
                     [&](std::size_t group, Lit without, std::span<const Lit> with) {
                       const Lit node = f.fresh();
                       f.implies(node, without);
                       for (std::size_t i = 0; i < with.size(); ++i) {
                         if (with[i] == without) continue;
                         for (const Lit x : sum.groups[group][i].literals)
                           f.implies(node, x, with[i]);
                       }
                       return node;
                     });
  f.unit(diagram.build(sum.bound));
}

}  // namespace twill
