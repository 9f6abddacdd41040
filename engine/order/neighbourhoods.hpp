// Large neighbourhood search (Shaw, "Using constraint programming and local search methods to solve
// vehicle routing problems", CP 1998): which ops may move when a better schedule is looked for near
// a schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/problem.hpp"
#include "graph/random.hpp"
#include "graph/schedule.hpp"

namespace twill::order {

class Neighbourhoods {
 public:
  enum class Aim { interval, length };
  /// `problem` must outlive it. The same seed, the same choices.
  Neighbourhoods(const Problem& problem, std::uint64_t seed, Aim aim = Aim::interval);

  /// The next ones are about this schedule: one op at least of those that keep its I from being
  /// smaller (critical_recurrence()), or its length, is in each.
  void around(const Schedule& schedule);

  /// Per op: may it move? In turns by what the ops have to do with each other:
  ///   - they are on the critical recurrence, or on what makes the schedule long,
  ///   - they are issued at about the same time of the steady state,
  ///   - they depend on each other directly or share a slot;
  /// and by chance among what is equally near. Precondition: around() has been called.
  std::vector<char> next();
  /// What the last one was good for: nothing better is in it, so that the next ones are larger, or
  /// it was too much to look at.
  void refuted() { resize(1); }
  void left_open() { resize(-1); }

 private:
  enum Kind { critical, at_a_time, connected };
  double distance(Kind kind, int op, int centre);  // below 1 where by chance alone
  double chance() { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }
  void resize(int by);
  void find_critical();
  void find_long();

  const Problem& problem_;
  SplitMix64 random_;
  Aim aim_;
  int round_ = 0, size_;
  Schedule schedule_;
  std::vector<int> critical_ops_;
};

}  // namespace twill::order
