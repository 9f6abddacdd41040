// Reduced ordered BDD of a pseudo-Boolean sum with two clauses a node: Abio, Nieuwenhuis, Oliveras,
// Rodriguez-Carbonell and Mayer-Eichberger, "A New Look at BDDs for Pseudo-Boolean Constraints",
// JAIR 2012; the construction is in pb_diagram.hpp.
//
// Auxiliary variables: one per inner node n_{i,[low,high]} = "the terms i, i+1, ... sum to at most
// the remaining bound". Clauses: 2 per node, n -> n_else and n and x_i -> n_then, less those whose
// consequence is the true terminal, plus one unit clause for the root; at most 2 nodes + 1.
// Unit propagation: consistent and arc consistent (the function is monotone). For n equal weights
// and bound k: (k + 1)(n - k) nodes. Exponential in the worst case: see pb_bdd_within. The root is
// for one bound.
#include <limits>

#include "encoders/sums/pb_diagram.hpp"
#include "encoders/sums/pseudo_boolean.hpp"

namespace twill {
namespace {

struct TooLarge {};

DiagramWeights weights_of(const PseudoBoolean& sum) {
  DiagramWeights weights;
  for (const Term& t : sum.terms) {
    weights.begin_level();
    weights.add(t.weight);
  }
  return weights;
}

}  // namespace

bool pb_bdd_within(Formula& f, const PseudoBoolean& sum, std::int64_t limit) {
  // The diagram is drawn first, with numbers for literals, and written once it is known to be small
  // enough. Children come before their parents.
  struct Node {
    Lit x, with, without;
  };
  std::vector<Node> nodes;
  SumDiagram diagram(weights_of(sum),
                     [&](std::size_t level, Lit without, std::span<const Lit> with) {
                       if (static_cast<std::int64_t>(nodes.size()) >= limit) throw TooLarge{};
                       nodes.push_back({sum.terms[level].literal, with.front(), without});
                       return Lit::of(static_cast<int>(nodes.size()));
                     });
  Lit root;
  try {
    root = diagram.build(sum.bound);
  } catch (TooLarge) {
    return false;
  }
  std::vector<Lit> literals;
  literals.reserve(nodes.size());
  const auto written = [&](Lit l) {
    return l.is_constant() ? l : literals[static_cast<std::size_t>(l.dimacs() - 1)];
  };
  for (const Node& node : nodes) {
    const Lit literal = f.fresh();
    f.implies(literal, written(node.without));
    f.implies(literal, node.x, written(node.with));
    literals.push_back(literal);
  }
  f.unit(written(root));
  return true;
}

void pb_bdd(Formula& f, const PseudoBoolean& sum) {
  pb_bdd_within(f, sum, std::numeric_limits<int>::max() - 1);
}

}  // namespace twill
