// twill machines: the built-in machines, and one fitted to measurements.

#include <algorithm>
#include <iostream>
#include <memory>

#include "engine/cli/catalogue.hpp"
#include "engine/cli/cli.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/lowering/fit_machine.hpp"

namespace twill::cli {
namespace {

struct MachineFlags {
  std::string show;
  std::string fit, base, output;
  bool quiet = false;
  bool json = false;
};

[[noreturn]] void refuse_flag(const char* place, const std::string& value,
                              const std::string& rule) {
  throw InputError("command line", place, value, rule);
}

int fit_to_measurements(const MachineFlags& flags) {
  if (flags.base.empty())
    refuse_flag("--base", "nothing",
                "what was not measured comes from a machine: a file or one of " +
                    joined(builtin_machines()));
  const std::vector<std::string> names = builtin_machines();
  const bool builtin = std::find(names.begin(), names.end(), flags.base) != names.end();
  for (const std::string& path : {flags.fit, builtin ? flags.fit : flags.base}) {
    if (!is_file(path)) refuse_flag(path == flags.fit ? "--fit" : "--base", path, "must be a file");
    if (path == flags.output) refuse_flag("-o", flags.output, "must not overwrite the input");
  }
  if (flags.fit == "-" && flags.base == "-")
    refuse_flag("--base", "-", "measurements and machine cannot both be standard input");
  const Measurements measured = parse_measurements(read_file(flags.fit), flags.fit);
  const FittedMachine fitted = fit_machine(
      measured, builtin ? builtin_machine(flags.base) : read_file(flags.base), flags.base);
  if (flags.output.empty())
    std::cout << fitted.text;
  else
    write_file(flags.output, fitted.text);
  if (flags.quiet) return kDone;
  for (const FittedCost& cost : fitted.costs)
    std::cerr << printable(cost.range.place) << ": " << fraction_text(cost.range.nominal) << " ("
              << fraction_text(cost.range.low) << " to " << fraction_text(cost.range.high)
              << "), samples: " << cost.samples << ", repetitions: " << cost.repetitions << "\n";
  return kDone;
}

int run(const MachineFlags& flags) {
  if (!flags.fit.empty()) return fit_to_measurements(flags);
  if (!flags.base.empty() || !flags.output.empty())
    refuse_flag(flags.base.empty() ? "-o" : "--base",
                flags.base.empty() ? flags.output : flags.base, "is for --fit");
  if (!flags.show.empty()) {
    std::cout << builtin_machine(flags.show);
    return kDone;
  }
  std::cout << listing(machine_entries(), flags.json);
  return kDone;
}

}  // namespace

Command machines_command(CLI::App& program) {
  auto flags = std::make_shared<MachineFlags>();
  CLI::App* app =
      program.add_subcommand("machines", "List the built-in machines, or fit one to measurements");
  app->add_option("--show", flags->show, "Print this machine's file");
  auto* measurements = app->add_option(
      "--fit", flags->fit,
      "Measurements of a device (twill.measurements, as gpu_bench_costs writes them):\n"
      "prints the machine of --base with ranges in the place of what was measured");
  measurements->excludes(app->get_option("--show"));
  app->add_option("--base", flags->base, "With --fit: built-in machine or machine file");
  app->add_option("-o,--output", flags->output, "With --fit: write the machine here");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "List as JSON");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
