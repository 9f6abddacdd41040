// Twill's programs for C++: a schedule becomes code whose correctness is judged, and which can be
// executed with numbers. Beside twill.hpp, which it includes.
//
//   const twill::Problem problem = twill::read_problem("loop.problem.json");
//   const auto made = twill::solve_program(problem, twill::solve(problem));
//   if (const auto* program = std::get_if<twill::program::Program>(&made.program))
//     if (!twill::program::judge(*program))
//       std::cout << twill::program::program_listing(*program);
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/meaning/reference.hpp"    // inputs, what the loop should give, comparison
#include "graph/program/compare.hpp"      // compare(program, problem, schedule)
#include "graph/program/derive.hpp"       // derive(problem, schedule)
#include "graph/program/execute.hpp"      // execute(program, n, inputs, course)
#include "graph/program/judge.hpp"        // judge(program): the independent judge
#include "graph/program/program.hpp"      // Program and its parts
#include "graph/program/program_io.hpp"   // program files
#include "graph/program/varied_time.hpp"  // a program in time
#include "twill.hpp"

namespace twill {

struct ProgramSolution {
  Solution solution;  ///< the schedule that the program has; its problem is the one given
  std::variant<program::Program, program::Refusal> program;
  /// Was it solved again, as the program of the schedule that was found first had no room?
  bool again = false;
  Amount reserved = 0;  ///< kept back from `memory` in that search; 0 = nothing was
  std::string memory;   ///< in which there was no room
  /// Where I or L had to grow: what is proved of all schedules whose program has a placement.
  std::optional<program::PlacedBounds> placed = {};
  /// `program` is a refusal, and it is proved that no schedule's program has a placement.
  bool none_placed = false;
};

/// The program of a schedule of `problem`, `found` by solve(). Where it has no placement, one that
/// has is searched by what placements ask of schedules (engine/placed.hpp), and by solving the
/// problem a few times with less of the memory, with operands held until their readers end, without
/// hand-overs of registers, at last at a larger I; what satisfies more satisfies `problem`, too.
/// The time limit of `options` is that of all these searches together, that of conflicts of each;
/// those of a kind have four times as many.
/// Such a schedule is optimal if I and L are those of an optimal `found`, else feasible, with the
/// bounds of `found`, and `placed` says how near it is to the best that has a placement. Where none
/// has room the first refusal stays, and `placed` or `none_placed` says what is proved. `found`
/// must have a schedule.
ProgramSolution solve_program(const Problem& problem, const Solution& found,
                              const Options& options = {}, std::stop_token stop = {},
                              const program::DeriveOptions& how = {});

namespace program {

/// Gives a program what its ops compute, from the kernel file's text that its problem was lowered
/// from, for these values of its parameters and with these results stored (LowerOptions). Why it
/// cannot be executed; nullopt = it can. Throws InputError.
std::optional<std::string> add_meaning(Program& program, std::string_view kernel,
                                       const std::string& source,
                                       const ParameterValues& values = {},
                                       const std::vector<std::string>& stored = {});

/// A program as a person reads it: each slot's prologue, steady state and epilogue with every wait
/// and why it is there; the table of channels; the map of each memory; orders that shared addresses
/// add; barrier waits an iteration. Names are made safe to print.
std::string program_listing(const Program& program);

// ---- in time ------------------------------------------------------------------------------------

/// A replay of `twill run --time`.
struct TimeQuestion {
  int iterations = 100;
  BarrierCosts costs = {};  ///< cycles; nothing is known of them: 0
  Contention contention = {};
  Variation variation = {};  ///< with `runs` = 0 nothing varies; needs 4 iterations
};

/// The same program with its units in one order.
struct TimedOrder {
  UnitOrder order = UnitOrder::schedules;
  TimedRun run;
  std::optional<Steady> steady;  ///< nullopt = no period in so many iterations
  double middle = 0;             ///< clocks an iteration in the middle half; 0 = of n < 4
  std::vector<double> varied;    ///< clocks an iteration of each run, ascending
};

/// In the order of the schedule, then in that of arrival. `program` must be of `problem` and
/// `schedule` (compare()). Throws InputError for a number out of range, and for more than 100
/// million executions of ops in all.
std::vector<TimedOrder> time_program(const Program& program, const Problem& problem,
                                     const Schedule& schedule, const TimeQuestion& question);
/// As `twill run --time --json` prints it (twill.time).
std::string time_json(const Program& program, const Problem& problem, const Schedule& schedule,
                      const TimeQuestion& question, const std::vector<TimedOrder>& orders);
/// For chrome://tracing and Perfetto: what happened when in one of them. No counters.
std::string time_trace(const Program& program, const Problem& problem, const Solution& solution,
                       const TimedRun& run);
/// Waits at which slots stand, longest first: the wait's index, cycles an iteration.
std::vector<std::pair<int, double>> longest_waits(const TimedRun& run);
/// When an iteration issues its first op, in cycles.
Cycle begin_of(const Program& program, const TimedRun& run, int iteration);

}  // namespace program
}  // namespace twill
