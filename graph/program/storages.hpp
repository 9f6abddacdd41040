// The ops, storages and depths of a program.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/program/loop_view.hpp"
#include "graph/program/program.hpp"

namespace twill::program {

/// A reader of a storage: op of the program.
struct Reader {
  int op = 0;
  int distance = 0;
  bool accumulates = false;  ///< it may write its result over this copy
};

/// A program in the making, with what orders and placement need of the schedule.
struct Draft {
  LoopView loop;
  Program program;
  std::vector<int> source;                   ///< per op of the program, the problem's
  std::vector<std::vector<Reader>> readers;  ///< per storage
  std::vector<int> writer;                   ///< per storage
  // As DeriveOptions has it:
  bool turns = false;
  bool merge = false;
  /// Turns that are left out, though `turns` asks for them: ops of the program.
  std::set<std::pair<int, int>> needless_turns;

  /// The least k such that a[i - k] has surely ended before b[i] begins, if the schedule's order is
  /// kept: by the order of their slot's code where that says it, else by the schedule's time. A
  /// larger k is satisfied, too; a smaller one is not.
  Cycle order_offset(int a, int b) const;
  /// The storage in tensor memory that the writer of `t`, an MMA, adds to in place; -1 = none, or
  /// more than one may be it (an operand that no edge holds and that has the result's size).
  int accumulator_of(int t) const;
  /// Is it the code of one slot that orders the end of a before b (in whatever iterations)?
  bool ordered_by_slot(int a, int b) const;
};

/// Slots with their ops in the order of the rows, and the storages of what the ops make, each with
/// the least depth that keeps every copy until the end of its last use. Addresses, events and waits
/// are left open. What was asked of the draft stays.
std::optional<Refusal> draft_program(const Problem& problem, const Schedule& schedule,
                                     Draft& draft);

}  // namespace twill::program
