// What derive() sees of a problem and its schedule: ops that are code, what they read through
// zero-cycle ops, what their results take, and the order in which instances are issued.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill::program {

/// Why there is no program. `rule` is of a fixed list, `text` says it of this loop.
struct Refusal {
  std::string rule;
  std::string text;
  // Of a placement:
  int memory = -1;       ///< of the problem, in which there was no room
  Amount hand_over = 0;  ///< taken there by hand-overs of registers, which the model does not count
  Amount lacking = 0;    ///< what all would take beside each other, less the capacity
  bool proved = false;   ///< the schedule has no placement of the class (placement.hpp)
  // Of a kernel's text:
  bool needs_shared = false;  ///< with more shared memory left by the schedule there may be one
  bool of_loop = false;       ///< of what the loop does: no schedule has one
};

/// A use of the result of `from`, directly or through zero-cycle ops (allocations, views).
struct Use {
  int from = 0;      ///< op of the problem
  int distance = 0;  ///< summed on the way
  Cycle hold = 0;
};

/// Larger loops are refused: what is done for a program takes more than linear time.
inline constexpr std::size_t kMostLoopOps = 2'000, kMostLoopEdges = 20'000;
/// Pairs of a view and a distance that one op is given by, at most.
inline constexpr std::size_t kMostViewed = 10'000;

struct LoopView {
  const Problem* problem = nullptr;
  const Schedule* schedule = nullptr;
  /// Per op of the problem: is it code? Zero-cycle ops that load nothing are not: they vanish into
  /// the storages of what they show.
  std::vector<bool> is_code;
  std::vector<std::vector<Use>> uses;  ///< per op that is code; sorted, each (from, distance) once
  std::vector<std::vector<Amount>> takes;  ///< per op and memory, its views' shares included
  std::vector<Amount> registers;           ///< of the result, a thread
  /// Per op, when it has surely ended: cycles after its issue. Its own, the largest delay that
  /// somebody waits, the longest that it holds an operand.
  std::vector<Cycle> ends;
  /// Per op, its place among those that are issued in the same cycle.
  std::vector<int> rank;

  Cycle start(int v) const { return schedule->start[static_cast<std::size_t>(v)]; }
  int slot(int v) const { return schedule->warp[static_cast<std::size_t>(v)]; }

  /// The least offset k such that a[i - k] is issued before b[i], in time or by rank.
  Cycle issue_offset(int a, int b) const;
  /// The least offset k such that a[i - k] has ended when b[i] is issued, in the schedule's time.
  Cycle end_offset(int a, int b) const;
};

/// `schedule` must be one of `problem` (verify()).
std::optional<Refusal> view_loop(const Problem& problem, const Schedule& schedule, LoopView& view);

}  // namespace twill::program
