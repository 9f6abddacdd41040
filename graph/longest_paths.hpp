// Longest paths, or a positive cycle where there is one (Bellman 1958, Ford 1956).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "graph/index.hpp"

namespace twill {

/// value(to) >= value(from) + weight.
template <class Weight>
struct PathArc {
  int from = 0, to = 0;
  Weight weight = 0;
};

/// Raises the nodes' values to the least ones above them that satisfy every arc. Arcs are taken in
/// their order: the better it is, the fewer passes. Same arcs, same values and same cycles.
template <class Weight>
class LongestPaths {
 public:
  /// A value of `unreached` raises no other one.
  LongestPaths(std::vector<PathArc<Weight>> arcs, std::vector<Weight> values, Weight unreached)
      : arcs_(std::move(arcs)),
        values_(std::move(values)),
        raised_by_(values_.size(), -1),
        unreached_(unreached) {}

  /// Takes every arc once. False = nothing was raised: the values are the least.
  bool pass() {
    bool changed = false;
    for (std::size_t a = 0; a < arcs_.size(); ++a) {
      const PathArc<Weight>& arc = arcs_[a];
      if (values_[at(arc.from)] == unreached_) continue;
      const Weight reached = values_[at(arc.from)] + arc.weight;
      if (reached <= values_[at(arc.to)]) continue;
      values_[at(arc.to)] = reached;
      raised_by_[at(arc.to)] = static_cast<int>(a);
      changed = true;
    }
    return changed;
  }

  /// A cycle of arcs each of which raised its node last, as indices in path order; empty = none.
  /// Such a cycle is positive. One appears before long where any is (Cherkassky and Goldberg 1999),
  /// after as many passes as nodes at the latest.
  std::vector<int> cycle() const {
    std::vector<int> walk(values_.size(), -1);  // the walk that came by first
    for (int first = 0; first < static_cast<int>(values_.size()); ++first) {
      int v = first;
      while (walk[at(v)] < 0 && raised_by_[at(v)] >= 0) {
        walk[at(v)] = first;
        v = before(v);
      }
      if (walk[at(v)] != first || raised_by_[at(v)] < 0) continue;
      std::vector<int> arcs;
      int u = v;
      do {
        arcs.push_back(raised_by_[at(u)]);
        u = before(u);
      } while (u != v);
      std::reverse(arcs.begin(), arcs.end());
      assert(is_positive(arcs));
      return arcs;
    }
    return {};
  }

  /// Passes until the values are the least: then it is empty. Or until a positive cycle is found,
  /// which is looked for now and then.
  std::vector<int> raise() {
    for (std::size_t passes = 0; pass(); ++passes)
      if (passes >= values_.size() || passes % 16 == 15)
        if (std::vector<int> found = cycle(); !found.empty()) return found;
    return {};
  }

  std::vector<Weight>& values() { return values_; }

 private:
  int before(int node) const { return arcs_[at(raised_by_[at(node)])].from; }
  bool is_positive(const std::vector<int>& cycle) const {
    Weight sum = 0;
    for (const int a : cycle) sum += arcs_[at(a)].weight;
    return sum > 0;
  }

  std::vector<PathArc<Weight>> arcs_;
  std::vector<Weight> values_;
  std::vector<int> raised_by_;  // arc, -1 = none
  Weight unreached_;
};

}  // namespace twill
