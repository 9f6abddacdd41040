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
  /// Was it solved again, as the program of the schedule that was found first had no room?
  bool again = false;
  Amount reserved = 0;  ///< kept back from `memory` in that search; 0 = nothing was
  std::string memory;   ///< in which there was no room
};

/// The program of a schedule of `problem`, `found` by solve(). Where placement finds no room, the
/// problem is solved again, a few times: with less of the memory, with operands held until their
/// readers end, without hand-overs of registers, at last at a larger I. What satisfies more
/// satisfies `problem`, too: such a schedule is optimal if I and L are those of an optimal `found`,
/// else feasible, with the lower bound of `found`. Where none has room the first refusal stays.
/// `found` must have a schedule.
ProgramSolution solve_program(const Problem& problem, const Solution& found,
                              const Options& options = {}, std::stop_token stop = {});

}  // namespace twill
