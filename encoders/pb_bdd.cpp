// Reduced ordered BDD of a pseudo-Boolean sum with two clauses a node: Abio, Nieuwenhuis, Oliveras,
// Rodriguez-Carbonell and Mayer-Eichberger, "A New Look at BDDs for Pseudo-Boolean Constraints",
// JAIR 2012. Built top down with intervals: a node stands for every remaining bound in [low, high]
// that gives the same function of the remaining literals.
//
// Auxiliary variables: one per inner node n_{i,[low,high]} = "the terms i, i+1, ... sum to at most
// the remaining bound". Clauses: 2 per node, n -> n_else and n and x_i -> n_then, less those whose
// consequence is the true terminal, plus one unit clause for the root; at most 2 nodes + 1.
// Unit propagation: consistent and arc consistent (the function is monotone). For n equal weights
// and bound k: (k + 1)(n - k) nodes. Exponential in the worst case: see pb_bdd_nodes.
#include <limits>
#include <map>

#include "encoders/pseudo_boolean.hpp"

namespace twill {
namespace {

constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max() / 4;

// The diagram under construction. `make` is called once for every inner node with the literals of
// its two children and returns the node's own literal.
template <class Make>
class Diagram {
 public:
  Diagram(const PseudoBoolean& sum, Make make) : sum_(sum), make_(make) {
    levels_.resize(sum.terms.size() + 1);
    remaining_.assign(sum.terms.size() + 1, 0);
    for (std::size_t i = sum.terms.size(); i-- > 0;)
      remaining_[i] = remaining_[i + 1] + sum.terms[i].weight;
  }

  struct Node {
    std::int64_t low, high;  // remaining bounds for which this node is the same function
    Lit literal;
  };

  Node build(std::size_t i, std::int64_t bound) {
    if (bound < 0) return {-kInfinity, -1, kFalseLit};
    if (bound >= remaining_[i]) return {remaining_[i], kInfinity, kTrueLit};
    const auto found = levels_[i].lower_bound(bound);  // keyed by high
    if (found != levels_[i].end() && found->second.low <= bound) return found->second;
    const std::int64_t weight = sum_.terms[i].weight;
    const Node without = build(i + 1, bound);
    const Node with = build(i + 1, bound - weight);
    const Node node{
        std::max(without.low, with.low + weight),
        std::min(without.high, with.high >= kInfinity / 2 ? kInfinity : with.high + weight),
        without.literal == with.literal
            ? without.literal
            : make_(sum_.terms[i].literal, with.literal, without.literal)};
    levels_[i].emplace(node.high, node);
    return node;
  }

 private:
  const PseudoBoolean& sum_;
  Make make_;
  std::vector<std::map<std::int64_t, Node>> levels_;
  std::vector<std::int64_t> remaining_;  // sum of weights from i on
};

struct TooLarge {};

}  // namespace

void pb_bdd(Formula& f, const PseudoBoolean& sum) {
  if (sum.bound < 0) return f.clause({});
  if (sum.terms.empty()) return;
  Diagram diagram(sum, [&f](Lit x, Lit with, Lit without) {
    const Lit node = f.fresh();
    f.implies(node, without);
    f.implies(node, x, with);
    return node;
  });
  f.unit(diagram.build(0, sum.bound).literal);
}

std::int64_t pb_bdd_nodes(const PseudoBoolean& sum, std::int64_t limit) {
  if (sum.bound < 0 || sum.terms.empty()) return 0;
  std::int64_t nodes = 0;
  Diagram diagram(sum, [&nodes, limit](Lit, Lit, Lit) {
    if (++nodes > limit) throw TooLarge{};
    return Lit::of(static_cast<int>(nodes));
  });
  try {
    diagram.build(0, sum.bound);
  } catch (TooLarge) {
    return limit + 1;
  }
  return nodes;
}

}  // namespace twill
