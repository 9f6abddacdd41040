// Which node of the loop a value comes from, and from how many iterations before.
#pragma once

#include <functional>
#include <vector>

#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/split.hpp"

namespace twill::ttgir {

struct Source {
  std::size_t node = 0;
  int distance = 0;
};

/// Follows values of one loop's body to the nodes that make them: through loop variables (distance
/// 1 each), replicated ops and waits.
class Sources {
 public:
  Sources(const Module& module, int loop);

  /// The node that holds part `copy` of a value.
  void set(int value, int copy, std::size_t node);
  void set_all(int value, std::size_t node, int copies);
  bool has(int value) const { return !nodes_[static_cast<std::size_t>(value)].empty(); }

  std::vector<Source> of(int value, int copy) const;

  /// The buffer behind a memdesc: the value of its allocation, or the loop variable or outside
  /// value that names it. Views and loop variables are followed.
  int root(int value) const;
  /// Is the value the result of a ring's memdesc_index (one of several buffers of an allocation)?
  bool in_ring(int value) const;

  int body() const { return body_; }
  /// Is the op somewhere under the loop?
  bool inside(int op) const;

 private:
  /// From a value up through views and loop variables, until an op is `enough` or no view.
  int climb(int value, const std::function<bool(const Operation&)>& enough) const;
  /// Counts work: chains of hostile length end in an InputError.
  void step(int value) const;
  int yielded(int value) const;  ///< for a loop variable: what is yielded for it, else kNone

  const Module* m_;
  int loop_, body_ = kNone;
  mutable std::int64_t steps_ = 0;
  std::vector<std::vector<std::size_t>> nodes_;  ///< per value, per copy (one for all when shared)
};

}  // namespace twill::ttgir
