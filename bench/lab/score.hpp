// Scores of encodings over the questions they were asked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/lab/rows.hpp"

namespace twill::bench {

/// One encoding's result on one question and scramble.
struct Outcome {
  std::string status;
  double cpu_seconds = 0;
  double vars = 0, clauses = 0, conflicts = 0;
  bool solved() const { return status == "SAT" || status == "UNSAT"; }
};

struct Score {
  std::string encoding;  ///< contestant(): with the solver where it is not the linked one
  std::map<std::string, Outcome> outcomes;  ///< by question: instance and scramble
  std::size_t sat = 0, unsat = 0, unique = 0, not_run = 0;
  double par2 = 0;  ///< mean CPU seconds, unsolved as twice the limit; rows not run do not count
  /// Geometric means over the questions that this and every other encoding that was asked built.
  double vars = 0, clauses = 0;
  /// Median over instances of (slowest - fastest) / median over its scrambles; with one scramble
  /// nothing.
  std::optional<double> spread;
  std::size_t solved() const { return sat + unsat; }
};

/// CPU seconds of what it solved, ascending.
std::vector<double> solved_seconds(const Score& score);

struct Scores {
  double limit = 0;  ///< the largest CPU limit of the rows
  std::size_t questions = 0;
  std::vector<Score> encodings;  ///< most solved first, then smallest PAR2
  Score virtual_best;
};

/// Of rows merged by merged_rows().
Scores scores_of(const std::vector<Row>& rows);

}  // namespace twill::bench
