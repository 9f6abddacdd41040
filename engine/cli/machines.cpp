// twill machines: the built-in machines.

#include <iostream>
#include <memory>

#include "engine/cli/catalogue.hpp"
#include "engine/cli/cli.hpp"

namespace twill::cli {
namespace {

struct MachineFlags {
  std::string show;
  bool quiet = false;
  bool json = false;
};

int run(const MachineFlags& flags) {
  if (!flags.show.empty()) {
    std::cout << builtin_machine(flags.show);
    return kDone;
  }
  std::vector<Entry> entries;
  for (const std::string& name : builtin_machines()) {
    entries.push_back({name, description(builtin_machine(name))});
  }
  std::cout << listing(entries, flags.json);
  return kDone;
}

}  // namespace

Command machines_command(CLI::App& program) {
  auto flags = std::make_shared<MachineFlags>();
  CLI::App* app = program.add_subcommand("machines", "List the built-in machines");
  app->add_option("--show", flags->show, "Print this machine's file");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "List as JSON");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
