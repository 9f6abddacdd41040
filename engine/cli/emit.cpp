// twill emit: a program as the source text of a kernel.

#include <iostream>
#include <memory>

#include "engine/cli/cli.hpp"
#include "engine/cli/make_program.hpp"
#include "engine/output/style.hpp"
#include "graph/emit/gluon.hpp"
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
};

int emit_kernel(const EmittedFlags& flags) {
  const WorkloadFlags& work = flags.make.work;
  program::Program program;
  // Standard input is read once: from there comes a program.
  const std::string bytes = is_file(work.input) ? read_file(work.input) : "";
  if (work.input == "-" || json_format(bytes) == "twill.program") {
    if (!flags.make.schedule.empty())
      throw InputError("command line", "SCHEDULE", quote(flags.make.schedule),
                       "a program file has all that is needed");
    program = program::parse_program(bytes, work.input);
    if (const auto fault = program::judge(program))
      throw InputError(work.input, "", "",
                       "the judge refuses it: " + fault->rule + ": " + fault->text);
  } else {
    auto made = make_program(flags.make);
    if (const int* code = std::get_if<int>(&made)) return *code;
    program = std::move(std::get<MadeProgram>(made).program);
  }
  emit::EmitOptions options;
  options.machine = work.machine.empty() ? "the machine of its program" : work.machine;
  options.version = version();
  const auto emitted = emit::emit_gluon(program, options);
  if (const auto* no = std::get_if<program::Refusal>(&emitted))
    throw InputError(work.input, "", "", "no kernel: " + no->rule + ": " + no->text);
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
  app->add_option("--to", flags->to, "Language of the text")
      ->check(CLI::IsMember({"gluon"}))
      ->capture_default_str();
  app->add_option("-o,--output", flags->output, "Write the text here, not to standard output");
  return {app, [flags] { return emit_kernel(*flags); }};
}

}  // namespace twill::cli
