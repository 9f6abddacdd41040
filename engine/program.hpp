// Schedules whose programs find room: placement goes back to the search.
#pragma once

#include <stop_token>
#include <string>
#include <variant>

#include "engine/include/twill.hpp"
#include "graph/program/derive.hpp"
#include "graph/program/program.hpp"

namespace twill {

struct ProgramSolution {
  Solution solution;  ///< the schedule that the program has; its problem is the one given
  std::variant<program::Program, program::Refusal> program;
  /// Kept back from a memory in the search that found this schedule, so that what the model does
  /// not count (hand-overs, alignment, what one place cannot take) has room; 0 = nothing was.
  Amount reserved = 0;
  std::string memory;
};

/// The program of a schedule of `problem`, `found` by solve(). Where placement finds no room, the
/// problem is solved again with less of that memory, a few times. A schedule of less memory is one
/// of `problem`, too: it is optimal if I and L are those of an optimal `found`, else feasible, with
/// the lower bound of `found`. With nothing found the first refusal stays. `found` must have a
/// schedule.
ProgramSolution solve_program(const Problem& problem, const Solution& found,
                              const Options& options = {}, std::stop_token stop = {});

}  // namespace twill
