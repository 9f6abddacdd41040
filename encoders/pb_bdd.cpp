// Reduced ordered BDD of a pseudo-Boolean sum with two clauses a node: Abio, Nieuwenhuis, Oliveras,
// Rodriguez-Carbonell and Mayer-Eichberger, "A New Look at BDDs for Pseudo-Boolean Constraints",
// JAIR 2012; the construction is in pb_diagram.hpp.
//
// Auxiliary variables: one per inner node n_{i,[low,high]} = "the terms i, i+1, ... sum to at most
// the remaining bound". Clauses: 2 per node, n -> n_else and n and x_i -> n_then, less those whose
// consequence is the true terminal, plus one unit clause for the root; at most 2 nodes + 1.
// Unit propagation: consistent and arc consistent (the function is monotone). For n equal weights
// and bound k: (k + 1)(n - k) nodes. Exponential in the worst case: see pb_bdd_nodes. The root is
// for one bound.
#include "encoders/pb_diagram.hpp"
#include "encoders/pseudo_boolean.hpp"

namespace twill {
namespace {

struct TooLarge {};

std::vector<std::vector<std::int64_t>> weights_of(const PseudoBoolean& sum) {
  std::vector<std::vector<std::int64_t>> weights;
  for (const Term& t : sum.terms) weights.push_back({t.weight});
  return weights;
}

}  // namespace

void pb_bdd(Formula& f, const PseudoBoolean& sum) {
  if (sum.bound < 0) return f.clause({});
  if (sum.terms.empty()) return;
  SumDiagram diagram(weights_of(sum),
                     [&](std::size_t level, Lit without, const std::vector<Lit>& with) {
                       const Lit node = f.fresh();
                       f.implies(node, without);
                       f.implies(node, sum.terms[level].literal, with.front());
                       return node;
                     });
  f.unit(diagram.build(sum.bound));
}

std::int64_t pb_bdd_nodes(const PseudoBoolean& sum, std::int64_t limit) {
  if (sum.bound < 0 || sum.terms.empty()) return 0;
  std::int64_t nodes = 0;
  SumDiagram diagram(weights_of(sum), [&](std::size_t, Lit, const std::vector<Lit>&) {
    if (++nodes > limit) throw TooLarge{};
    return Lit::of(static_cast<int>(nodes));
  });
  try {
    diagram.build(sum.bound);
  } catch (TooLarge) {
    return limit + 1;
  }
  return nodes;
}

}  // namespace twill
