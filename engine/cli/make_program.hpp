// A program made of what the command line names: solved or read, derived, judged.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "engine/cli/search_options.hpp"
#include "engine/cli/workload.hpp"
#include "engine/include/twill_emit.hpp"

namespace twill::cli {

struct MakeFlags {
  WorkloadFlags work;
  SearchFlags search;
  std::string schedule;   ///< file; "" = it is solved
  std::string registers;  ///< "machine" or "auto"; "" = auto where the machine's leave no schedule
  bool quiet = false;
  bool turns = false, all_turns = false, merge = false;

  program::DeriveOptions derive() const {
    const auto kept = turns ? program::Turns::needed : program::Turns::none;
    return {all_turns ? program::Turns::all : kept, merge};
  }

  /// KERNEL, SCHEDULE, and the options of both.
  void add_to(CLI::App& app);
};

/// What the input is lowered to, with what it computes. Throws InputError.
ProgramSource load_source(const WorkloadFlags& flags);
ProgramSource load_source(const MakeFlags& flags);  ///< with its --registers

/// Of a module whose loop was not chosen by the caller and does not pass `fits`, the last one that
/// does; nullopt = there is none, or no need for it.
std::optional<int> other_loop(const WorkloadFlags& flags, const ProgramSource& source,
                              const std::function<bool(const ttgir::LoweredModule&)>& fits);

ProgramOptions program_options(const MakeFlags& flags);

/// Of the schedule file, or solved. Throws InputError.
ProgramResult given_program(const MakeFlags& flags, const ProgramSource& source);

/// Says on standard error what was odd in a module, as an op that nobody knows.
void warn(const ProgramSource& source, bool quiet);

/// Says on standard error what there is to say of a program, and what is missing but a text; the
/// exit code.
int told(const ProgramResult& result, bool quiet);

/// The program, accepted by the judge and compared with its schedule; or the exit code, where what
/// is missing was said on standard error. Throws InputError.
std::variant<MadeProgram, int> make_program(const MakeFlags& flags);

}  // namespace twill::cli
