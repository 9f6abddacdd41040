// twill lower: the concrete problem of a kernel on a machine; nothing is solved.

#include <iostream>
#include <memory>

#include "engine/cli/cli.hpp"
#include "engine/cli/workload.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/slack.hpp"

namespace twill::cli {
namespace {

struct LowerFlags {
  WorkloadFlags work;
  std::string output;
  bool explain = false;
  bool quiet = false;
  bool json = false;
  Cycle slack = 0;
};

/// The workload, and with --explain how its costs came about: also where no layout holds it, whose
/// refusal then comes after them.
Workload load_explained(const LowerFlags& flags, std::string& costs) {
  if (!flags.explain) return load(flags.work);
  WorkloadFlags work = flags.work;
  work.costs = &costs;
  try {
    Workload loaded = load(work);
    if (costs.empty())
      throw InputError("command line", "--explain", printable(flags.work.input),
                       "must be a kernel or a TTGIR module: a problem has its costs already");
    return loaded;
  } catch (const InputError&) {
    std::cout << costs << std::flush;
    throw;
  }
}

int run(const LowerFlags& flags) {
  if (const auto listing = loop_listing(flags.work)) {
    std::cout << *listing;
    return kDone;
  }
  std::string costs;
  const Workload work = load_explained(flags, costs);
  const Lowered& lowered = work.problems.front();
  if (!flags.quiet) {
    if (!work.modules.empty()) std::cerr << warnings_text(*work.modules.front());
    if (!lowered.layout.empty()) {
      std::cerr << "layout " << printable(lowered.layout);
      if (work.problems.size() > 1) {
        std::cerr << ", the first of " << work.problems.size() << " that fit";
      }
      std::cerr << "\n";
    }
    if (!lowered.normalized.empty()) {
      std::cerr << "normalised costs: " << normalization_text(lowered) << "\n";
    }
    for (const BandwidthSum& sum : lowered.bandwidth) {
      std::cerr << "bandwidth of " << printable(sum.unit) << ": " << plural(sum.cycles, "clock")
                << " an iteration\n";
    }
  }
  if (flags.explain) {
    std::cout << costs;
    if (!flags.output.empty()) write_file(flags.output, problem_text(lowered.problem));
    return kDone;
  }
  Problem problem = lowered.problem;
  if (flags.slack > 0) {
    problem = with_slack(problem, flags.slack);
    problem.name += " with slack " + std::to_string(flags.slack);
  }
  const std::string text = problem_text(problem);
  if (flags.output.empty() || flags.json) std::cout << text;
  if (!flags.output.empty()) write_file(flags.output, text);
  return kDone;
}

}  // namespace

Command lower_command(CLI::App& program) {
  auto flags = std::make_shared<LowerFlags>();
  CLI::App* app = program.add_subcommand(
      "lower", "Put a kernel on a machine: the problem that `solve` would solve");
  flags->work.add_to(*app);
  app->add_option("-o,--output", flags->output, "Write the problem here, not to standard output");
  app->add_flag("--explain", flags->explain,
                "Print op, rule, formula and cycles instead of the problem, also where no layout "
                "holds the loop");
  app->add_option("--slack", flags->slack,
                  "Longer delays, by so many cycles: the schedules that have them to spare")
      ->check(CLI::Range(Cycle{0}, kMaxCycles));
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "Print the problem even with -o");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
