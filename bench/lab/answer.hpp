// What a solver says of a question of ours (bench/lab/question_text.hpp), and the schedule that its
// model is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill::bench {

struct Answer {
  std::string verdict;               ///< SAT, UNSAT, UNKNOWN or "" = none
  std::optional<Schedule> schedule;  ///< of SAT; not judged
  /// What the schedule is read from and the model has no value of, in words; read as false.
  std::vector<std::string> missing;
};

struct NamedText {
  std::string_view text, file;  ///< `file` for errors
};

/// Reads `output` as the answer to the exported `question`: competition output or MiniSat's file
/// for CNF and OPB, a solution file of CBC, HiGHS or SCIP for LP, `sat` and values or a model for
/// SMT-LIB; of a problem file `sat`, `unsat` or `unknown`, and after sat a line of JSON that has
/// initiation_interval and ops with id, start and warp, as a schedule file. Throws InputError where
/// it is none, or where the question's format has no schedule.
Answer read_answer(const NamedText& question, const NamedText& output, const Problem& problem);

/// The lines of a solver's standard output that are its answer: `s` and `v` lines, where it has
/// any.
std::string answer_lines(const std::string& out);

/// "" = the judge accepts the schedule, no longer than `length`; else what is wrong with it.
std::string refusal_of(const Problem& problem, const Schedule& schedule, Cycle length);

}  // namespace twill::bench
