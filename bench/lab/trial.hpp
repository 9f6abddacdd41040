// One row of an experiment: a question, encoded, scrambled and solved in this process.
#pragma once

#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>

#include "bench/lab/question.hpp"
#include "bench/lab/question_text.hpp"
#include "bench/lab/scramble.hpp"

namespace twill::bench {

struct TrialLimits {
  double cpu_seconds = 0;      ///< of the process; 0 = none
  std::int64_t conflicts = 0;  ///< 0 = none
  std::int64_t memory = 0;     ///< bytes resident; 0 = none
};

struct Trial {
  Problem problem;
  Cycle ii = 1, length = 1;
  std::string encoding;  ///< as --encoding takes it
  Scramble scramble;
  std::uint64_t seed = 0;  ///< of the solver
  TrialLimits limits;
  std::string proof;        ///< DRAT, binary, to this file; "" = none
  bool statistics = false;  ///< the solver's own, on standard output
  /// Where not "", the question is written there in this format and not solved: status WRITTEN.
  std::string formula;
  QuestionFormat format = QuestionFormat::cnf;
  std::string file;  ///< of the problem, for provenance
};

/// What came of it: status SAT, UNSAT, TIMEOUT, CONFLICTS, MEMOUT or STOPPED, sizes, times, the
/// schedule of a model and whether the judge accepts it (verified: "model" or "refused"; only the
/// literal form may be refused, else std::logic_error). CPU times are this process's.
nlohmann::ordered_json try_question(const Trial& trial, const std::stop_token& stop);

}  // namespace twill::bench
