// The rows of `bench run`: what is to be asked of whom, and how a row is run and made.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/lab/question.hpp"
#include "bench/lab/rows.hpp"
#include "bench/lab/scramble.hpp"
#include "bench/lab/solver_command.hpp"

namespace twill::bench {

/// A row to be run.
struct Work {
  const Instance* instance;
  std::string encoding;
  std::uint64_t scramble;
  const SolverCommand* solver = nullptr;  ///< null = the linked one
};

struct RowLimits {
  double cpu = 60;  ///< CPU seconds; 0 = none
  double wall = 0;  ///< wall-clock seconds; 0 = 20 times the CPU limit and a minute
  std::int64_t conflicts = 0;
  std::int64_t memory = 0;  ///< bytes
};

class Runner {
 public:
  /// Throws InputError where a problem is not the one that the list names.
  Runner(const std::vector<Instance>& instances, const RowLimits& limits, const Scramble& scramble,
         std::uint64_t seed);
  /// The part of a row that is known before it is run.
  Row head(const Work& work) const;
  /// The row, run in a process of its own.
  Row run(const Work& work, const std::stop_token& stop) const;

 private:
  RowLimits limits_;
  Row machine_;
  Scramble scramble_;
  std::uint64_t seed_;
  std::map<std::string, Row> problems_;  // what rows say of them
  std::map<std::string, Problem> loops_;
};

}  // namespace twill::bench
