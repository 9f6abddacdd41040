// Which issue distances of two ops the functional units allow, modulo I.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// A set of residues modulo I, as sorted disjoint closed intervals within [0, I).
class ResidueSet {
 public:
  using Interval = std::pair<Cycle, Cycle>;

  /// All residues.
  explicit ResidueSet(Cycle modulus);

  /// Removes the integers first, ..., last (any sign), taken modulo I. Nothing when last < first.
  void remove(Cycle first, Cycle last);
  /// Keeps only residues congruent to an integer of one of the intervals.
  void keep(const std::vector<Interval>& intervals);

  bool empty() const { return intervals_.empty(); }
  bool full() const;
  bool contains(Cycle x) const;
  /// The smallest integer >= x, and the largest <= x, whose residue is in the set. Not empty.
  Cycle at_least(Cycle x) const;
  Cycle at_most(Cycle x) const;

 private:
  Cycle modulus_;
  std::vector<Interval> intervals_;
};

/// The residues of M(v) - M(u) at which the reservations of u and v together stay within every
/// capacity, u != v. On a unit where no two segments can overlap, the set is narrowed further: what
/// lies between two segments on the circle is a set of other segments and at most the unit's idle
/// time. Necessary for every pair; sufficient for all of rule 2 when every unit is of that kind.
/// nullopt when the two ops never meet (all residues).
class IssueDistances {
 public:
  IssueDistances(const Problem& problem, Cycle ii);
  /// Is some unit too short for its segments, or some op at odds with itself?
  bool infeasible() const { return infeasible_; }
  std::optional<ResidueSet> of(int u, int v);
  /// Can this unit hold three or more ops, or two, at once, so that pairs do not decide it?
  bool shared(int unit) const { return !exclusive_[static_cast<std::size_t>(unit)]; }

 private:
  struct Piece {  // the load is `amount` on the arc [begin, begin + length)
    Cycle begin, length;
    Amount amount;
  };
  std::vector<Piece> load(int op, int unit) const;
  void narrow(int u, int v, int unit, ResidueSet& set);

  const Problem& problem_;
  Cycle ii_;
  bool infeasible_ = false;
  std::vector<std::vector<Piece>> loads_;    // [op * units + unit]
  std::vector<bool> exclusive_;              // no two segments of the unit may overlap
  std::vector<std::vector<Cycle>> lengths_;  // of an exclusive unit's segments
  std::vector<Cycle> idle_;                  // I - sum of lengths
  // Subset sums of a unit's segments without one of each of two lengths; none when too many.
  std::map<std::tuple<int, Cycle, Cycle>, std::optional<std::vector<Cycle>>> sums_;
};

}  // namespace twill
