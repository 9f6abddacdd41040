// A program made of what the command line names: solved or read, derived, judged.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "engine/cli/search_options.hpp"
#include "engine/cli/workload.hpp"
#include "engine/program.hpp"
#include "graph/program/program.hpp"
#include "graph/ttgir/meaning.hpp"

namespace twill::cli {

struct MakeFlags {
  WorkloadFlags work;
  SearchFlags search;
  std::string schedule;  ///< file; "" = it is solved
  bool quiet = false;
  bool turns = false;    ///< program::DeriveOptions::turns
  Amount kept_back = 0;  ///< bytes of "smem" that a schedule found here leaves free

  /// KERNEL, SCHEDULE, and the options of both.
  void add_to(CLI::App& app);
};

/// With what it was made of.
struct MadeProgram {
  program::Program program;
  Problem problem;
  Solution solution;
  bool again = false;  ///< ProgramSolution::again
  Amount reserved = 0;
  std::string memory;
  /// Of a TTGIR module whose loop's meaning was read: both, else neither.
  std::shared_ptr<const ttgir::LoweredModule> module;
  std::optional<ttgir::ModuleMeaning> module_meaning;
};

/// The program, accepted by the judge and compared with its schedule; or the exit code, where what
/// is missing was said on standard error. Throws InputError.
std::variant<MadeProgram, int> make_program(const MakeFlags& flags);

}  // namespace twill::cli
