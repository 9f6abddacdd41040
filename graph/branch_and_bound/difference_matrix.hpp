// All-pairs longest paths of a system of difference constraints, kept closed while constraints are
// added, with undo.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// Entry (x, y) is the largest w for which the constraints imply value(y) - value(x) >= w. Every
/// entry is finite (the caller adds an origin and a horizon), and the system is feasible.
class DifferenceMatrix {
 public:
  explicit DifferenceMatrix(int nodes, Cycle fill)
      : nodes_(static_cast<std::size_t>(nodes)), entry_(nodes_ * nodes_, fill) {}

  Cycle operator()(int x, int y) const { return entry_[index(x, y)]; }
  /// Sets an entry of a matrix that the caller closes itself.
  void set(int x, int y, Cycle w) { entry_[index(x, y)] = w; }
  int nodes() const { return static_cast<int>(nodes_); }

  /// Adds value(b) - value(a) >= w and closes the matrix in O(nodes^2). False, with the matrix as
  /// it was, when that would be a positive cycle. Calls changed(x, y) for every entry that grew.
  template <class Changed>
  bool insert(int a, int b, Cycle w, const Changed& changed) {
    assert((*this)(a, a) == 0 && (*this)(b, b) == 0);
    if ((*this)(a, b) >= w) return true;
    if ((*this)(b, a) + w > 0) return false;
    targets_.clear();
    for (int y = 0; y < nodes(); ++y)
      if ((*this)(a, y) < w + (*this)(b, y)) targets_.push_back(y);
    for (int x = 0; x < nodes(); ++x) {
      const Cycle head = (*this)(x, a) + w;
      if (head <= (*this)(x, b)) continue;
      for (const int y : targets_) {
        Cycle& entry = entry_[index(x, y)];
        const Cycle path = head + (*this)(b, y);
        if (path <= entry) continue;
        trail_.emplace_back(index(x, y), entry);
        entry = path;
        changed(x, y);
      }
    }
    assert((*this)(a, b) == w && (*this)(b, a) + w <= 0);
    return true;
  }

  /// A point to come back to.
  std::size_t mark() const { return trail_.size(); }
  void undo(std::size_t mark) {
    assert(mark <= trail_.size());
    for (; trail_.size() > mark; trail_.pop_back())
      entry_[trail_.back().first] = trail_.back().second;
  }

 private:
  std::size_t index(int x, int y) const {
    assert(x >= 0 && x < nodes() && y >= 0 && y < nodes());
    return static_cast<std::size_t>(x) * nodes_ + static_cast<std::size_t>(y);
  }

  std::size_t nodes_;
  std::vector<Cycle> entry_;
  std::vector<std::pair<std::size_t, Cycle>> trail_;
  std::vector<int> targets_;
};

}  // namespace twill
