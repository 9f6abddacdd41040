// twill emit: a program as the source text of a kernel.

#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/cli/cli.hpp"
#include "engine/cli/make_program.hpp"
#include "engine/output/style.hpp"
#include "graph/emit/cuda.hpp"
#include "graph/emit/gluon.hpp"
#include "graph/emit/ttgir.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/program_io.hpp"

namespace twill::cli {
namespace {

struct EmittedFlags {
  MakeFlags make;
  std::string to = "gluon";
  std::string output;
  int trips = -1;      ///< of TTGIR: for this number of iterations alone
  std::string triton;  ///< of TTGIR: the version that reads it
};

using Emitted = std::variant<emit::GluonKernel, program::Refusal>;

Emitted emit_text(const EmittedFlags& flags, const program::Program& program,
                  const emit::EmitOptions& options) {
  if (flags.to == "gluon") return emit::emit_gluon(program, options);
  if (flags.to == "ttgir-ws") return emit::emit_ttgir(program, options, flags.trips);
  auto text = emit::emit_cuda(program, options);
  if (auto* no = std::get_if<program::Refusal>(&text)) return *no;
  emit::GluonKernel kernel;
  kernel.text = std::move(std::get<std::string>(text));
  return kernel;
}

/// What is asked of a language that does not have it.
void check_flags(const EmittedFlags& flags) {
  const bool ttgir = flags.to == "ttgir-ws";
  if (!ttgir && flags.trips >= 0)
    throw InputError("command line", "--for-trips", std::to_string(flags.trips),
                     "only --to ttgir-ws has a text for each number of iterations");
  if (!ttgir && !flags.triton.empty())
    throw InputError("command line", "--triton", quote(flags.triton),
                     "only --to ttgir-ws is written for one version of Triton");
  if (ttgir && !flags.triton.empty() && flags.triton != emit::kTritonOfTtgir)
    throw InputError("command line", "--triton", quote(flags.triton),
                     "TTGIR is written for Triton " + std::string(emit::kTritonOfTtgir) +
                         " alone: its text changes from version to version");
}

bool refused_for_room(const Emitted& emitted) {
  const auto* no = std::get_if<program::Refusal>(&emitted);
  return no != nullptr && no->rule == "limits" &&
         no->text.find("shared memory") != std::string::npos;
}

/// Solved again with more asked of the schedule. What satisfies that satisfies the problem as it
/// is, too; so it is as good as the first one if I and L are, else feasible with its bound.
std::optional<MadeProgram> made_again(const MakeFlags& flags, const program::Program& first,
                                      Cycle length) {
  MakeFlags quiet = flags;
  quiet.quiet = true;
  auto made = make_program(quiet);
  auto* program = std::get_if<MadeProgram>(&made);
  if (program == nullptr) return std::nullopt;
  if (program->program.initiation_interval != first.initiation_interval ||
      program->solution.schedule->length != length || first.status != "optimal")
    program->program.status = "feasible";
  program->program.ii_lower_bound = first.ii_lower_bound;
  return std::move(*program);
}

/// The problem counts no barriers: room for them.
constexpr Amount kRoom = 2'048;

/// A module's loop is a chain of many small ops, and a schedule of least I may have them on any
/// slot: fewest hand-overs first, then fewest results that cross slots, then none of registers.
std::vector<MakeFlags> ways_for_module(const MakeFlags& asked) {
  std::vector<MakeFlags> ways;
  if (!asked.search.search.goals.empty()) return ways;
  MakeFlags handed = asked, crossing = asked, none = asked;
  handed.search.search.goals = {"handovers"};
  crossing.search.search.goals = {"crossings"};
  none.search.search.handover = false;
  for (MakeFlags one : {handed, crossing, none}) {
    ways.push_back(one);
    one.kept_back = kRoom;
    ways.push_back(one);
  }
  return ways;
}

int emit_kernel(const EmittedFlags& flags) {
  check_flags(flags);
  const WorkloadFlags& work = flags.make.work;
  program::Program program;
  // Standard input is read once: from there comes a program.
  std::optional<ttgir::ModuleMeaning> user;  // of a TTGIR module: its function
  bool solved_here = false;
  Cycle length = 0;
  const std::string bytes = is_file(work.input) ? read_file(work.input) : "";
  if (work.input == "-" || json_format(bytes) == "twill.program") {
    if (!flags.make.schedule.empty())
      throw InputError("command line", "SCHEDULE", quote(flags.make.schedule),
                       "a program file has all that is needed");
    program = program::parse_program(bytes, work.input);
    if (const auto fault = program::judge(program))
      throw InputError(
          work.input, "", "",
          "the judge refuses it: " + printable(fault->rule) + ": " + printable(fault->text));
  } else {
    auto made = make_program(flags.make);
    if (const int* code = std::get_if<int>(&made)) return *code;
    MadeProgram& all = std::get<MadeProgram>(made);
    length = all.solution.schedule->length;
    program = std::move(all.program);
    user = std::move(all.module_meaning);
    solved_here = flags.make.schedule.empty();
  }
  emit::EmitOptions options;
  options.machine = work.machine.empty() ? "the machine of its program" : work.machine;
  options.version = version();
  options.user = user ? &user->kernel : nullptr;
  auto emitted = emit_text(flags, program, options);
  const program::Program first = program;
  const auto try_way = [&](const MakeFlags& way) {
    auto again = made_again(way, first, length);
    if (!again || (user && !again->module_meaning)) return;
    emit::EmitOptions now = options;
    now.user = again->module_meaning ? &again->module_meaning->kernel : nullptr;
    auto text = emit_text(flags, again->program, now);
    const bool refused = std::holds_alternative<program::Refusal>(text);
    if (!refused) emitted = std::move(text);
  };
  const auto* written = std::get_if<emit::GluonKernel>(&emitted);
  // Where products lie in registers, others that are handed about are lacking there.
  if (user && flags.to != "cuda" && solved_here &&
      (written == nullptr || written->launch.tmem_columns == 0)) {
    const Emitted as_asked = std::move(emitted);
    emitted = program::Refusal{"limits", "shared memory"};
    for (const MakeFlags& way : ways_for_module(flags.make)) {
      if (std::holds_alternative<emit::GluonKernel>(emitted)) break;
      // (A larger I is the last thing to give.)
      if (!way.search.search.handover && std::holds_alternative<emit::GluonKernel>(as_asked)) break;
      try_way(way);
    }
    if (std::holds_alternative<program::Refusal>(emitted)) emitted = as_asked;
  }
  if (refused_for_room(emitted) && solved_here) {
    MakeFlags again = flags.make;
    again.kept_back = kRoom;
    try_way(again);
  }
  if (const auto* no = std::get_if<program::Refusal>(&emitted))
    throw InputError(work.input, "", "",
                     "no kernel: " + printable(no->rule) + ": " + printable(no->text));
  const std::string& text = std::get<emit::GluonKernel>(emitted).text;
  if (flags.output.empty() || flags.output == "-")
    std::cout << text;
  else
    write_file(flags.output, text);
  return kDone;
}

}  // namespace

Command emit_command(CLI::App& program) {
  auto flags = std::make_shared<EmittedFlags>();
  CLI::App* app = program.add_subcommand(
      "emit", "The kernel of a program (or of a kernel file's best schedule) as source text");
  flags->make.add_to(*app);
  app->add_option(
         "--to", flags->to,
         "Language of the text: Gluon or TTGIR with partitions (Hopper, Blackwell), or CUDA "
         "C++ (Hopper)")
      ->check(CLI::IsMember({"gluon", "ttgir-ws", "cuda"}))
      ->capture_default_str();
  app->add_option("--for-trips", flags->trips,
                  "Of ttgir-ws: for this number of iterations alone, fewer than the stages "
                  "(without it: for all others)")
      ->check(CLI::Range(0, 1'000));
  app->add_option("--triton", flags->triton,
                  "Of ttgir-ws: the version of Triton that is to read it");
  app->add_option("-o,--output", flags->output, "Write the text here, not to standard output");
  return {app, [flags] { return emit_kernel(*flags); }};
}

}  // namespace twill::cli
