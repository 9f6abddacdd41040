// One attempt of the list scheduler: ops of a pool are placed at one initiation interval until none
// is left, or too many have been placed. See list_schedule.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/list_scheduling/partial_schedule.hpp"
#include "graph/random.hpp"

namespace twill {

/// What attempts have in common.
struct ListEffort {
  SplitMix64 random;
  std::int64_t left = 0;       ///< ops that may still be placed
  std::function<bool()> stop;  ///< asked now and then: true = give up; then nothing is left
};

class ListAttempt {
 public:
  /// All ops are in the pool, taken by `order`. `problem` and `effort` must outlive the attempt.
  ListAttempt(const Problem& problem, Cycle ii, const std::vector<int>& order, ListEffort& effort);

  /// From now on every op ends by `deadline` and starts no earlier than cycle 0. False =
  /// dependences alone take longer. Before begin_near() and begin_around().
  bool end_by(Cycle deadline);

  /// In the place of nothing, a schedule of a longer interval: what begins at the end of its period
  /// is cut out (the period begins at the residue `origin`), the rest stays where it is in the
  /// period. What is cut out, and what clashes now, is placed again.
  void begin_near(const Schedule& schedule, Cycle origin);
  /// In the place of nothing, a schedule of this interval without the ops that are `out` and those
  /// that are too late.
  void begin_around(const Schedule& schedule, const std::vector<char>& out);

  /// At most so many ops are placed. nullopt = some are still in the pool.
  std::optional<Schedule> run(std::int64_t most);

 private:
  struct Place {
    int slot = -1;
    Cycle start = 0;
    Wide cost = 0;
  };
  struct Range {
    Cycle first, last;
    bool late;  // the later, the better: it has consumers alone
  };
  void order_pool();
  bool insert(int v);
  Range range(int v, int w) const;
  std::optional<Place> on_slot(int v, int w);
  Cycle behind(const Clash& clash, Cycle t) const;
  Wide cost_of(int w, Cycle away);
  bool force(int v);
  int choose(const std::vector<int>& ops);

  const Problem& p_;
  ListEffort& effort_;
  PartialSchedule state_;
  std::vector<int> pool_;
  std::vector<std::size_t> rank_;
  std::vector<std::int64_t> penalty_;
  std::vector<Cycle> earliest_, latest_;  // latest_: empty where there is no deadline
};

}  // namespace twill
