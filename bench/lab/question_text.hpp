// A question as the text of a file for other solvers. Comments come first: provenance and, as map
// lines, the variables that a schedule is read from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/lab/question.hpp"
#include "bench/lab/scramble.hpp"

namespace twill::bench {

enum class QuestionFormat {
  cnf,     ///< DIMACS
  opb,     ///< clauses, and sums as they are: Roussel and Manquinho's format (linear_sink.hpp)
  ilp,     ///< the same as a program of 0-1 variables in CPLEX's LP format, without an objective
  smtlib,  ///< the paper's program, corrected (bench/smtlib.hpp); takes no encoding
  problem  ///< the problem file itself, for a solver with a model of its own; takes no encoding
};
/// "cnf", "opb", "ilp", "smtlib", "problem".
std::string to_string(QuestionFormat format);
/// The inverse; precondition: one of these.
QuestionFormat question_format(std::string_view text);
bool takes_encoding(QuestionFormat format);
/// Of a file: "cnf", "opb", "lp", "smt2", "problem.json".
std::string ending_of(QuestionFormat format);

struct QuestionText {
  std::string text;
  /// Of what the solver is given; 0 for smtlib and problem.
  std::int64_t variables = 0, constraints = 0, literals = 0;
  std::vector<FamilySize> sizes;
  double cpu_seconds = 0;  ///< of this process, to build it without writing it
};

/// The question in a format. Only cnf is scrambled; opb and ilp need form=modulo. Throws InputError
/// where the format cannot say the problem, Budget::Spent when `budget` is spent first.
QuestionText question_text(QuestionFormat format, const Instance& instance, const Problem& problem,
                           const std::string& encoding, const Scramble& scramble, Budget& budget);

/// One formula for all lengths up to the question's, asked from the longest down, as iCNF; needs
/// form=modulo.
std::string incremental_text(const Instance& i, const Problem& problem,
                             const std::string& encoding);

/// SMT-LIB text with `:status` where `expected` is SAT or UNSAT and, with `values`, a request for
/// the values that a schedule is read from.
std::string annotated_smtlib(const std::string& text, std::string_view expected, bool values);

}  // namespace twill::bench
