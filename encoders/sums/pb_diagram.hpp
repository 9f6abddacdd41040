// The reduced ordered decision diagram of a monotone sum, built top down with intervals: a node
// stands for every remaining bound in [low, high] that gives the same function of the remaining
// groups (Abio, Nieuwenhuis, Oliveras, Rodriguez-Carbonell and Mayer-Eichberger, JAIR 2012; with
// several literals a level: Bofill, Coll, Suy and Villaret, IJCAI 2017).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "encoders/formula.hpp"

namespace twill {

/// Every level's weights, descending.
class DiagramWeights {
 public:
  void begin_level() { begin_.push_back(weights_.size()); }
  void add(std::int64_t weight) { weights_.push_back(weight); }
  std::size_t levels() const { return begin_.size(); }
  std::span<const std::int64_t> of(std::size_t level) const {
    const std::size_t end = level + 1 < begin_.size() ? begin_[level + 1] : weights_.size();
    return std::span(weights_).subspan(begin_[level], end - begin_[level]);
  }

 private:
  std::vector<std::int64_t> weights_;
  std::vector<std::size_t> begin_;
};

/// `make(level, without, with)` is called once for every inner node with the literals of its
/// children, `without` for no true literal at this level and with[i] for the level's i-th weight,
/// and returns the node's own literal.
template <class Make>
class SumDiagram {
 public:
  SumDiagram(DiagramWeights weights, Make make)
      : weights_(std::move(weights)), make_(make), levels_(weights_.levels()) {
    remaining_.assign(weights_.levels() + 1, 0);
    for (std::size_t i = weights_.levels(); i-- > 0;)
      remaining_[i] = remaining_[i + 1] + weights_.of(i).front();
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
    const auto place = [&] {
      return std::partition_point(levels_[i].begin(), levels_[i].end(),
                                  [&](const Node& n) { return n.high < bound; });
    };
    if (const auto found = place(); found != levels_[i].end() && found->low <= bound) return *found;
    const Node without = build(i + 1, bound);
    Node node = without;
    const std::size_t children = with_.size();
    bool depends = false;
    for (const std::int64_t weight : weights_.of(i)) {
      const Node child = build(i + 1, bound - weight);
      node.low = std::max(node.low, child.low + weight);
      if (child.high < kInfinity / 2) node.high = std::min(node.high, child.high + weight);
      depends = depends || child.literal != without.literal;
      with_.push_back(child.literal);
    }
    if (depends)
      node.literal = make_(i, without.literal, std::span<const Lit>(with_).subspan(children));
    with_.resize(children);
    levels_[i].insert(place(), node);
    return node;
  }

  DiagramWeights weights_;
  Make make_;
  std::vector<std::vector<Node>> levels_;  // by bounds, ascending
  std::vector<std::int64_t> remaining_;    // sum of the heaviest weights from i on
  std::vector<Lit> with_;                  // children of the nodes that are being built
};

}  // namespace twill
