// Orders and slots beside those of one iteration's schedule, for list_justify.cpp.
#pragma once

#include <utility>
#include <vector>

#include "graph/list_scheduling/list_order.hpp"
#include "graph/problem.hpp"
#include "graph/random.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// In which order ops are placed, and on which slots.
struct ListMove {
  std::vector<int> order = {};       ///< producers first
  std::vector<Cycle> expected = {};  ///< when they may start
  std::vector<int> slots = {};       ///< empty: where it is best
};

class ListMoves {
 public:
  /// Of schedules with the interval `period`. `low`: the I that is asked for; `shortest`: a bound
  /// on L. `problem` and `random` must outlive it. Precondition: no dependence cycle exceeds
  /// `period`.
  ListMoves(const Problem& problem, Cycle period, Cycle low, Cycle shortest, SplitMix64& random);

  /// All ops, producers first, the smallest key first.
  std::vector<int> by_keys(const std::vector<Cycle>& keys) const;
  /// The same order, but that what cannot come later in a shortest schedule comes sooner.
  std::vector<int> urgent_first(const std::vector<int>& order) const;
  /// One beside it. `overflows`: a register file or a memory of `s` does.
  ListMove near(const Schedule& s, bool overflows);

  const BusiestUnit& busiest() const { return busiest_; }
  /// When v uses the busiest unit: from its first cycle there to its last.
  std::pair<Cycle, Cycle> use(const Schedule& s, int v) const;

 private:
  void noise(const Schedule& s, std::vector<Cycle>& keys);
  bool close_gap(const Schedule& s, std::vector<Cycle>& keys);
  void cut_end(const Schedule& s, std::vector<Cycle>& keys);
  void cut_begin(const Schedule& s, std::vector<Cycle>& keys);
  bool begin_with(const Schedule& s, std::vector<Cycle>& keys);
  bool end_with(const Schedule& s, std::vector<Cycle>& keys);
  bool relieve(const Schedule& s, std::vector<Cycle>& keys, std::vector<int>& slots);
  void needed_before(const Schedule& s, int v, Cycle when, std::vector<Cycle>& keys);
  Cycle shorter_by(const Schedule& s);

  const Problem& p_;
  Cycle low_, shortest_;
  SplitMix64& random_;
  BusiestUnit busiest_;
  std::vector<int> soonest_;  // of the busiest unit's ops first what can be there soonest
  std::vector<Cycle> earliest_, latest_;  // to end by cycle shortest_
  std::vector<std::vector<int>> successors_, predecessors_;
};

}  // namespace twill
