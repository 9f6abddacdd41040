// The reduced ordered decision diagram of a monotone sum, built top down with intervals: a node
// stands for every remaining bound in [low, high] that gives the same function of the remaining
// groups (Abio, Nieuwenhuis, Oliveras, Rodriguez-Carbonell and Mayer-Eichberger, JAIR 2012; with
// several literals a level: Bofill, Coll, Suy and Villaret, IJCAI 2017).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "encoders/formula.hpp"

namespace twill {

/// `make(level, without, with)` is called once for every inner node with the literals of its
/// children, `without` for no true literal at this level and with[i] for the level's i-th weight,
/// and returns the node's own literal.
template <class Make>
class SumDiagram {
 public:
  /// weights[level] are the level's weights, descending.
  SumDiagram(std::vector<std::vector<std::int64_t>> weights, Make make)
      : weights_(std::move(weights)), make_(make) {
    levels_.resize(weights_.size() + 1);
    remaining_.assign(weights_.size() + 1, 0);
    for (std::size_t i = weights_.size(); i-- > 0;)
      remaining_[i] = remaining_[i + 1] + weights_[i].front();
  }

  /// "All levels sum to at most bound."
  Lit build(std::int64_t bound) { return build(0, bound).literal; }

 private:
  static constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max() / 4;

  struct Node {
    std::int64_t low, high;  // remaining bounds for which this node is the same function
    Lit literal;
  };

  Node build(std::size_t i, std::int64_t bound) {
    if (bound < 0) return {-kInfinity, -1, kFalseLit};
    if (bound >= remaining_[i]) return {remaining_[i], kInfinity, kTrueLit};
    const auto found = levels_[i].lower_bound(bound);  // keyed by high
    if (found != levels_[i].end() && found->second.low <= bound) return found->second;
    const Node without = build(i + 1, bound);
    Node node = without;
    std::vector<Lit> with;
    bool depends = false;
    for (const std::int64_t weight : weights_[i]) {
      const Node child = build(i + 1, bound - weight);
      node.low = std::max(node.low, child.low + weight);
      if (child.high < kInfinity / 2) node.high = std::min(node.high, child.high + weight);
      depends = depends || child.literal != without.literal;
      with.push_back(child.literal);
    }
    if (depends) node.literal = make_(i, without.literal, with);
    levels_[i].emplace(node.high, node);
    return node;
  }

  std::vector<std::vector<std::int64_t>> weights_;
  Make make_;
  std::vector<std::map<std::int64_t, Node>> levels_;
  std::vector<std::int64_t> remaining_;  // sum of the heaviest weights from i on
};

}  // namespace twill
