// The branch and bound over orders (modulo_schedule.hpp): what it knows before it branches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "graph/branch_and_bound/difference_matrix.hpp"
#include "graph/branch_and_bound/residues.hpp"
#include "graph/index.hpp"
#include "graph/problem.hpp"

namespace twill::modulo {

/// What all queries at one I share: the ops that use a unit, their distances through the loop, and
/// the allowed issue distances of every pair.
class Instance {
 public:
  /// Precondition: check() accepted the problem, which outlives this; ii >= 1.
  Instance(const Problem& problem, Cycle ii);

  /// Not refuted at once: no positive cycle, every op and every pair fits.
  bool feasible() const { return feasible_; }
  int size() const { return static_cast<int>(ops_.size()); }
  int origin() const { return size(); }
  int sink() const { return size() + 1; }
  int op(int x) const { return ops_[at(x)]; }
  const Problem& problem() const { return problem_; }
  Cycle ii() const { return ii_; }
  const std::vector<int>& shared_units() const { return shared_; }
  Cycle shortest() const { return (*path_)(origin(), sink()); }

  /// Smallest value >= w that M(y) - M(x) may have.
  Cycle round_up(int x, int y, Cycle w) const {
    if (x < y) {
      const auto& set = pairs_[at(x) * at(size()) + at(y)];
      return set ? set->at_least(w) : w;
    }
    const auto& set = pairs_[at(y) * at(size()) + at(x)];
    return set ? -set->at_most(-w) : w;
  }
  bool constrained(int x, int y) const {
    return x < size() && y < size() && x != y &&
           pairs_[at(std::min(x, y)) * at(size()) + at(std::max(x, y))].has_value();
  }

  /// The dependences and the deadline, closed: a longest path takes the arc sink -> origin of
  /// weight -deadline at most once. Precondition: shortest() <= deadline.
  DifferenceMatrix matrix(Cycle deadline) const;

 private:
  const Problem& problem_;
  Cycle ii_;
  bool feasible_ = false;
  std::vector<int> ops_;
  std::unique_ptr<DifferenceMatrix> path_;
  std::vector<std::optional<ResidueSet>> pairs_;  // x < y: M(y) - M(x)
  std::vector<int> shared_;
};

}  // namespace twill::modulo
