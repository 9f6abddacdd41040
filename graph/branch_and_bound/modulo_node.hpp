// The branch and bound over orders (modulo_schedule.hpp): one node of its tree.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "graph/branch_and_bound/modulo_instance.hpp"
#include "graph/wide.hpp"

namespace twill::modulo {

/// value(to) - value(from) >= gap, on nodes of the matrix.
struct Decision {
  int from = 0, to = 0;
  Cycle gap = 0;
};

/// One node of the search, moved along the tree.
class Node {
 public:
  Node(const Instance& instance, Cycle deadline);

  /// Rounds every bound; false when the node has no schedule. Only the root needs it.
  bool propagate_all();
  /// Adds a decision and rounds what it raises; false when the node has no schedule. Either way the
  /// way back is undo().
  bool decide(const Decision& d);

  /// E of node x, the earliest start.
  Cycle start(int x) const { return matrix_(instance_.origin(), x); }
  /// A point to come back to.
  std::size_t mark() const { return matrix_.mark(); }
  void undo(std::size_t mark) { matrix_.undo(mark); }

  /// The branches of this node in the order in which to try them; none when E is a schedule.
  std::vector<Decision> branches() const;

 private:
  struct Copy {  // a segment of op node `x`, busy in [begin, end) of this iteration's time
    int x;
    Cycle begin, end;  // from the op's start of iteration 0
    Amount amount;
  };

  struct Window {  // a segment lies within [begin, end)
    Cycle begin, end;
    Wide area;
  };

  /// Has the bound on M(y) - M(x) rounded by propagate().
  void enqueue(int x, int y);
  /// Rounds the queued bounds to a fixed point; false on a contradiction or an overload.
  bool propagate();
  /// Is some window too short for the segments that lie in it?
  bool overloaded();

  /// The forbidden difference whose cheaper branch costs most; the cheaper branch comes first.
  std::vector<Decision> pair_branches() const;
  /// Copies of a unit's segments that are busy at an instant congruent to `instant` at E, each
  /// moved by whole iterations so that it covers the instant itself.
  std::vector<Copy> copies_at(int unit, Cycle instant) const;
  /// The orders of a minimal set of copies that overflow the unit somewhere at E; none = none do.
  std::vector<Decision> copy_branches(int unit) const;
  /// One decision for each ordered pair of copies of different ops, cheapest first.
  std::vector<Decision> order_copies(const std::vector<Copy>& copies) const;

  const Instance& instance_;
  DifferenceMatrix matrix_;
  std::vector<bool> queued_;
  std::vector<std::pair<int, int>> queue_;
  std::vector<Window> windows_;
};

}  // namespace twill::modulo
