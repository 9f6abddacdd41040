// twill emit: a program as the source text of a kernel.

#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/make_program.hpp"
#include "engine/cli/offers.hpp"
#include "engine/cli/other_ways.hpp"
#include "engine/output/style.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/sequence.hpp"
#include "graph/ttgir/stored_factors.hpp"

namespace twill::cli {
namespace {

struct EmittedFlags {
  MakeFlags make;
  KernelOptions kernel;
  std::string output;
};

/// What was written, or the exit code.
using Written = std::variant<std::string, int>;

[[noreturn]] void refuse_kernel(const EmittedFlags& flags, const std::string& why) {
  throw InputError(flags.make.work.input, "", "", "no kernel: " + why);
}

std::string text_of(const EmittedFlags& flags,
                    std::variant<std::string, program::Refusal> emitted) {
  if (const auto* no = std::get_if<program::Refusal>(&emitted))
    refuse_kernel(flags, printable(no->rule) + ": " + printable(no->text));
  return std::move(std::get<std::string>(emitted));
}

/// Of a program file, whose text is `bytes`, or standard input.
std::string from_program(const EmittedFlags& flags, const std::string& bytes) {
  const std::string& input = flags.make.work.input;
  if (!flags.make.schedule.empty())
    throw InputError("command line", "SCHEDULE", quote(flags.make.schedule),
                     "a program file has all that is needed");
  const program::Program program = program::parse_program(bytes, input);
  if (const auto fault = program::judge(program))
    throw InputError(
        input, "", "",
        "the judge refuses it: " + printable(fault->rule) + ": " + printable(fault->text));
  return text_of(flags, emit_program(program, flags.kernel));
}

/// Does a module's loop, with what stands around it, make up its function?
bool makes_up_function(const ttgir::LoweredModule& module) {
  const auto read = ttgir::meaning_of_loop(module);
  const auto* made = std::get_if<ttgir::ModuleMeaning>(&read);
  return made != nullptr && made->kernel.incomplete.empty();
}

/// Of a module whose function is several loops one behind the other, each with a schedule, and of
/// which the caller has chosen none: all of them.
ProgramSource with_sequence(const MakeFlags& make, ProgramSource source) {
  const WorkloadFlags& work = make.work;
  if (source.modules.empty() || work.ttgir.loop || work.ttgir.nest || !make.schedule.empty())
    return source;
  const std::vector<int> loops = ttgir::default_sequence(source.modules.front()->module);
  if (!loops.empty() && make.registers == "auto")
    throw InputError("command line", "--registers", "auto",
                     "is for one loop; the function is several, which share their registers");
  for (const int loop : loops) {
    WorkloadFlags one = work;
    one.ttgir.loop = loop;
    one.ttgir.sequence = true;
    source.sequence.push_back(load_source(one));
  }
  return source;
}

/// What is written of the input; `make` gets the loop that it is.
ProgramSource source_to_write(MakeFlags& make, bool persistent) {
  ProgramSource source = with_sequence(make, load_source(make));
  if (!source.sequence.empty()) {
    if (!make.quiet)
      std::cerr << "the function is " << source.sequence.size()
                << " loops one behind the other, each with a schedule of its own\n";
  } else if (const auto other = other_loop(make.work, source, makes_up_function)) {
    if (!make.quiet)
      std::cerr << "loop " << *other << " of the module is written (--loop): with it the function "
                << "is whole\n";
    make.work.ttgir.loop = other;
    source = load_source(make);
  }
  if (persistent && !source.modules.empty())
    throw InputError(
        "command line", "--persistent", "true",
        "is for kernels that Twill writes whole; a module's function keeps its own loops");
  for (const ProgramSource& one : source.sequence) warn(one, make.quiet);
  if (source.sequence.empty()) warn(source, make.quiet);
  return source;
}

Written from_schedule(EmittedFlags flags) {
  const ProgramSource source = source_to_write(flags.make, flags.kernel.persistent);
  const ProgramResult given = given_program(flags.make, source);
  if (const int code = told(given, flags.make.quiet); code != kDone) return code;
  return text_of(flags, emit_program(*given.made, flags.kernel));
}

/// Does its loop convert a left factor to registers that could be stored (--left-factors)?
bool has_factors_to_store(const ProgramSource& source) {
  return source.sequence.empty() && !source.modules.empty() && !source.modules.front()->undone &&
         ttgir::with_stored_factors(source.modules.front()->module).has_value();
}

/// Is `one` to be taken: it has a text, and the other has none, or no smaller I.
bool is_better(const EmittedKernel& one, const EmittedKernel& other) {
  if (one.text.empty() || other.text.empty()) return !one.text.empty();
  return one.result.made->program.initiation_interval <=
         other.result.made->program.initiation_interval;
}

/// What is written, with the flags and the source that it is of.
struct FromWorkload {
  MakeFlags make;
  ProgramSource source;
  EmittedKernel kernel;
};

const ProgramResult& result_of(const FromWorkload& made) {
  return made.kernel.result;
}

Amount lacking_of(const FromWorkload& made) {
  return made.kernel.registers_short;
}

FromWorkload kernel_of(const MakeFlags& make, const KernelOptions& kernel, std::stop_token stop) {
  FromWorkload one;
  one.make = make;
  one.source = source_to_write(one.make, kernel.persistent);
  one.kernel = emit_kernel(one.source, kernel, program_options(one.make), std::move(stop));
  return one;
}

/// Left factors as the module has them and, where it has any that could be stored and nothing was
/// said of them, stored (--left-factors): the better one.
FromWorkload with_better_factors(const MakeFlags& make, const KernelOptions& kernel,
                                 const std::stop_token& stop) {
  const bool open = make.work.ttgir.left_factors.empty();
  MakeFlags other = make;
  other.work.ttgir.left_factors = "memory";
  const std::string stored =
      "left factors that the loop converts are stored to shared memory (--left-factors memory)";
  std::optional<FromWorkload> first;
  try {
    first = kernel_of(make, kernel, stop);
  } catch (const InputError& error) {
    if (!open || error.place() != "/layouts") throw;
    try {
      FromWorkload second = kernel_of(other, kernel, stop);
      second.kernel.result.remarks.push_back(stored + "; in registers no layout holds the loop");
      return second;
    } catch (const InputError&) {
      throw error;  // (of what was asked for)
    }
  }
  if (!open || !has_factors_to_store(first->source)) return std::move(*first);
  FromWorkload second = kernel_of(other, kernel, stop);
  if (!is_better(second.kernel, first->kernel)) return std::move(*first);
  const ProgramResult& before = first->kernel.result;
  const std::string in_registers =
      !first->kernel.text.empty()
          ? "I = " + std::to_string(before.made->program.initiation_interval)
      : before.status == Status::infeasible ? "it has no schedule (proved)"
                                            : "no kernel is written (" + before.why + ")";
  second.kernel.result.remarks.push_back(stored + "; in registers " + in_registers);
  return second;
}

Written from_workload(const EmittedFlags& flags) {
  Interrupt interrupt;
  FromWorkload written = with_schedule<FromWorkload>(flags.make, [&](const MakeFlags& one) {
    return with_better_factors(one, flags.kernel, interrupt.token());
  });
  const MakeFlags& make = written.make;
  const ProgramSource& source = written.source;
  EmittedKernel& emitted = written.kernel;
  const bool quiet = flags.make.quiet;
  if (const int code = told(emitted.result, quiet); code != kDone) return code;
  if (emitted.result.missing == Missing::text) refuse_kernel(flags, emitted.result.why);
  if (quiet || !source.sequence.empty()) return std::move(emitted.text);
  const MadeProgram& made = *emitted.result.made;
  const auto say = [](const std::string& faster) {
    if (!faster.empty()) std::cerr << faster << "\n";
  };
  if (!make.turns && !make.all_turns) say(faster_with_turns(made, flags.kernel, make.merge));
  if (!source.modules.empty() && make.registers != "auto")
    say(faster_kernel(make.work, made.program.initiation_interval, flags.kernel,
                      program_options(make), interrupt.token()));
  return std::move(emitted.text);
}

int write_kernel(EmittedFlags flags) {
  check_options(flags.kernel, true);
  const WorkloadFlags& work = flags.make.work;
  flags.kernel.machine = work.machine;
  // Standard input is read once: from there comes a program.
  const std::string bytes = is_file(work.input) ? read_file(work.input) : "";
  const bool program = work.input == "-" || json_format(bytes) == "twill.program";
  const Written written = program                       ? Written(from_program(flags, bytes))
                          : flags.make.schedule.empty() ? from_workload(flags)
                                                        : from_schedule(flags);
  if (const int* code = std::get_if<int>(&written)) return *code;
  const std::string& text = std::get<std::string>(written);
  write_or_print(flags.output.empty() ? "-" : flags.output, text);
  return kDone;
}

}  // namespace

Command emit_command(CLI::App& program) {
  auto flags = std::make_shared<EmittedFlags>();
  CLI::App* app = program.add_subcommand(
      "emit", "The kernel of a program (or of a kernel file's best schedule) as source text");
  flags->make.add_to(*app);
  app->add_option(
         "--to", flags->kernel.to,
         "Language of the text, for Hopper and Blackwell: gluon (Python, Triton 3.7 to 3.9), cuda\n"
         "(C++ over Twill's headers, nvcc), ttgir-ws (TTGIR with partitions, Triton 3.9.0) or\n"
         "tilelang (Python, TileLang's annotate_ws_schedule)")
      ->check(CLI::IsMember({"gluon", "ttgir-ws", "cuda", "tilelang"}))
      ->capture_default_str();
  app->add_flag(
      "--persistent", flags->kernel.persistent,
      "Of gluon and ttgir-ws: one program a multiprocessor, which does block after block; its\n"
      "loads begin while the block before ends");
  app->add_option("--for-trips", flags->kernel.for_trips,
                  "Of ttgir-ws: for this number of iterations alone, fewer than the stages "
                  "(without it: for all others)")
      ->check(CLI::Range(0, 1'000));
  app->add_option("--triton", flags->kernel.triton,
                  "Of ttgir-ws: the version of Triton that is to read it");
  app->add_option("-o,--output", flags->output, "Write the text here, not to standard output");
  return {app, [flags] { return write_kernel(*flags); }};
}

}  // namespace twill::cli
