// Which node of the loop a value comes from, and from how many iterations before.
#pragma once

#include <functional>
#include <vector>

#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/split.hpp"

namespace twill::ttgir {

struct Source {
  std::size_t node = 0;
  int distance = 0;  ///< iterations of the loop
  int inner = 0;     ///< and of the inner loop, where that is not one op
};

/// Follows values of one loop's body to the nodes that make them: through loop variables (distance
/// 1 each), replicated ops and waits. Of a nest, the body has the inner loop's ops in the place of
/// the inner loop; a variable of that is what was yielded, or what it began with.
class Sources {
 public:
  Sources(const Module& module, int loop, int inner = kNone);

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
  /// The ops of the body in the order of the text.
  const std::vector<int>& ops() const { return ops_; }
  /// The inner loop of a nest, else kNone.
  int inner_loop() const { return inner_; }
  /// Is the op under the inner loop of a nest?
  bool in_inner(int op) const { return inner_ != kNone && under(op, inner_); }
  /// Is the op somewhere under the loop?
  bool inside(int op) const { return under(op, loop_); }

 private:
  /// From a value up through views and loop variables, until an op is `enough` or no view.
  int climb(int value, const std::function<bool(const Operation&)>& enough) const;
  /// Counts work: chains of hostile length end in an InputError.
  void step(int value) const;
  bool under(int op, int loop) const;
  int yielded(int value) const;         ///< for a loop variable: what is yielded for it, else kNone
  int inner_variable(int value) const;  ///< which of the inner loop's, from 0, else -1
  int inner_yield(std::size_t k) const;

  const Module* m_;
  int loop_, inner_, body_ = kNone;
  std::vector<int> ops_;
  mutable std::int64_t steps_ = 0;
  std::vector<std::vector<std::size_t>> nodes_;  ///< per value, per copy (one for all when shared)
};

}  // namespace twill::ttgir
