// twill kernels: the built-in kernels.

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/cli/catalogue.hpp"
#include "engine/cli/cli.hpp"

namespace twill::cli {
namespace {

struct KernelFlags {
  std::string show;
  std::string machine;
  bool quiet = false;
  bool json = false;
};

int run(const KernelFlags& flags) {
  if (!flags.show.empty()) {
    std::cout << builtin_kernel(flags.show, flags.machine);
    return kDone;
  }
  std::cout << listing(kernel_entries(), flags.json);
  return kDone;
}

}  // namespace

Command kernels_command(CLI::App& program) {
  auto flags = std::make_shared<KernelFlags>();
  CLI::App* app = program.add_subcommand("kernels", "List the built-in kernels");
  app->add_option("--show", flags->show, "Print this kernel's file");
  app->add_option("--machine", flags->machine,
                  "The built-in machine whose graph --show prints, for names that stand for one");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "List as JSON");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
