// From a schedule to a program.
#pragma once

#include <variant>

#include "graph/problem.hpp"
#include "graph/program/loop_view.hpp"
#include "graph/program/program.hpp"
#include "graph/schedule.hpp"

namespace twill::program {

enum class Turns {
  none,
  needed,  ///< so few that without any of them the loop is slower
  all,
};

struct DeriveOptions {
  Turns turns = Turns::none;
  /// May several ops arrive on one barrier, where all are waited for together? Fewer waits; text
  /// is emitted of programs without.
  bool merge = false;
};

/// A program that does what the schedule says: its slots and the order of their ops, storages with
/// depths and addresses, events, waits and barrier phases. Or why there is none: rule "schedule"
/// (it breaks a rule of the model), "views", "placement" (none of the class of place() was found),
/// "phases" or "size".
///
/// What a problem does not say is taken so that no wait is left out for it. An op ends later than
/// at its issue if somebody waits for it (a blocking edge), if it holds an operand, if its latency
/// varies or if it is an MMA (kind "gemm"). MMAs of one slot on one unit are executed in their
/// order. An MMA may write over an operand of its result's size that the edge does not hold, its
/// accumulator, and so may a chain that goes over tensor memory in chunks. A register result that
/// crosses slots goes through the memory "smem".
///
/// With all turns the program also keeps the schedule's order on units with one instance that
/// several slots use: a wait (need "turn") for the end of the op before, wherever the schedule has
/// that end before the next one's issue and nothing else implies it. Without, a unit serves whoever
/// comes first: no number changes, but the loop may be slower than I (time.hpp). With the needed
/// ones it is not slower, if with all of them it is not, and leaving out any one more makes it so:
/// by the replay in time of 64 iterations with the costs of the problem (turns.cpp).
///
/// Fields about the files (problem_sha256, status, ii_lower_bound) are left to the caller. Whether
/// the program is right is for judge() to say. `problem` must pass check().
std::variant<Program, Refusal> derive(const Problem& problem, const Schedule& schedule,
                                      const DeriveOptions& options = {});

}  // namespace twill::program
