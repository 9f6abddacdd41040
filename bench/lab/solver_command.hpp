// Another solver, as `bench run --solver NAME=COMMAND` names it, asked a question.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/lab/question_text.hpp"
#include "bench/lab/rows.hpp"
#include "bench/process.hpp"

namespace twill::bench {

struct SolverCommand {
  std::string name, text;  ///< text = COMMAND
  std::vector<std::string> words;
  QuestionFormat format = QuestionFormat::cnf;
  bool model = false, proof = false;  ///< COMMAND has these placeholders
  std::string version;                ///< first line of --version, or "unknown"
  std::string sha256;                 ///< of the program's file
};

/// Words are split at blanks; '...' and "..." keep them. Placeholders: {cnf}, {opb}, {ilp}
/// or {smt2}, the question's file (default: {cnf} at the end), or {problem} with {ii} and {length},
/// what is asked of the problem file; {model}, where the solver writes its
/// answer, if not to standard output; {proof}, where it writes a DRAT proof; {seed}; {cpu}, the
/// limit in whole seconds. Throws InputError.
SolverCommand solver_command(const std::string& option, const std::stop_token& stop);

struct SolverLimits {
  double cpu_seconds = 0;   ///< of building the formula and solving; 0 = none
  double wall_seconds = 0;  ///< 0 = none
  std::int64_t memory = 0;  ///< bytes
};

/// Runs the solver on the formula that `write` (a `bench trial` whose last word is --formula)
/// writes, and judges what it says. The result has status SAT, UNSAT, UNKNOWN, TIMEOUT, MEMOUT,
/// STOPPED, ERROR (no answer that can be read) or WRONG (an answer that is refused: a model that is
/// no schedule, a proof that is none, UNSAT where `expected` is SAT), sizes, times and the
/// schedule.
Row ask_solver(const SolverCommand& solver, const std::vector<std::string>& write,
               const Problem& problem, const Instance& instance, bool exact, std::uint64_t seed,
               const SolverLimits& limits, const std::stop_token& stop);

}  // namespace twill::bench
