// What the rules say about pairs of starts whatever the slots are: difference constraints that are
// linear in I.
//
//   M(to) - M(from) >= weight + turns * I
//
// Every edge gives one by rule 1, with the spill where the crossing is forced (rule 7). One more
// comes from rules 3, 4 and 6: where at most k copies of u's result can be live at once, its life
// is at most k I (a life of l cycles has ceil(l / I) copies live at some residue), so that for
// every use v of it M(u) - M(v) >= hold + (distance - k) I. A pin to a cycle gives two from and to
// an origin at cycle 0, from which every start is >= 0.
//
// A cycle of constraints that sums up to W + T I > 0 refutes that I, and with it every smaller one
// where T < 0 and every larger one where T > 0: ranges of I at a time, however long they are.
#pragma once

#include <optional>
#include <vector>

#include "graph/problem.hpp"
#include "graph/wide.hpp"

namespace twill {

/// Precondition: check() has accepted the problem.
class StartArcs {
 public:
  explicit StartArcs(const Problem& problem);

  /// The most by which one of the edges' distances exceeds the copies of its source's result that
  /// can be live: what makes schedules long that dependences alone leave short.
  Cycle most_turns() const { return most_turns_; }

  /// The componentwise smallest starts that the constraints allow at I; nullopt = none, proved.
  std::optional<std::vector<Cycle>> earliest(Cycle ii) const;
  /// The componentwise largest, none of them above `horizon`. Precondition: earliest(ii) has some.
  /// Negative where the horizon is too short.
  std::vector<Cycle> latest(Cycle ii, Cycle horizon) const;
  /// The smallest I from `low` to `high` that the constraints allow; high + 1 = none. Proved: a
  /// smaller one has no schedule.
  Cycle least_interval(Cycle low, Cycle high) const;

 private:
  struct Arc {
    int from = 0, to = 0;  // 0 = the origin, v + 1 = op v
    Cycle weight = 0;
    Cycle turns = 0;
  };
  struct Sum {
    Wide weight = 0, turns = 0;
  };
  Wide at_interval(const Arc& arc, Cycle ii) const { return arc.weight + Wide{arc.turns} * ii; }
  // Raises the values to the least fixed point above them; what keeps raising them, if anything.
  std::optional<Sum> raise(std::vector<Wide>& value, Cycle ii, bool backward) const;

  std::size_t nodes_;
  std::vector<Arc> arcs_;
  Cycle most_turns_ = 0;
};

}  // namespace twill
