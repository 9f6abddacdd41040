// twill show: a schedule file as text, graph, page or trace.

#include <iostream>
#include <memory>

#include "engine/cli/cli.hpp"
#include "engine/cli/terminal.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/ring_depth.hpp"

namespace twill::cli {
namespace {

struct ShowFlags {
  std::string problem;
  std::string schedule;
  std::string output;
  PictureFlags picture;
  bool quiet = false;
  bool json = false;
};

int run(const ShowFlags& flags) {
  if (flags.problem == "-" && flags.schedule == "-") {
    throw InputError("command line", "SCHEDULE", "\"-\"",
                     "problem and schedule cannot both be standard input");
  }
  const std::string bytes = read_file(flags.problem);
  const Problem problem = parse_problem(bytes, flags.problem);
  Solution solution = read_schedule(problem, flags.schedule);
  // A wrong schedule can be looked at, to see what is wrong with it, but not without being told.
  if (!flags.quiet && solution.problem_sha256 != sha256(bytes)) {
    std::cerr << "twill: warning: the schedule was made for another problem (problem_sha256)\n";
  }
  if (solution.schedule) {
    const auto violation = verify(problem, *solution.schedule);
    if (!flags.quiet && violation) {
      std::cerr << "twill: warning: the schedule is not valid: " << printable(violation->rule)
                << ": " << printable(violation->text) << "\n";
    }
    if (solution.ring_depths.empty()) {
      solution.ring_depths = ring_depths(problem, *solution.schedule);
    }
  }
  const std::string text =
      flags.json ? schedule_text(problem, solution)
                 : picture(problem, solution, flags.picture, {}, flags.output.empty());
  if (flags.output.empty()) {
    std::cout << text;
  } else {
    write_file(flags.output, text);
  }
  return kDone;
}

}  // namespace

Command show_command(CLI::App& program) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* app = program.add_subcommand("show", "Look at a schedule");
  app->add_option("PROBLEM", flags->problem, "Problem file; - = standard input")->required();
  app->add_option("SCHEDULE", flags->schedule, "Schedule file; - = standard input")->required();
  app->add_option("-o,--output", flags->output, "Write here, not to standard output");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  auto* json = app->add_flag("--json", flags->json, "The schedule file in its canonical form");
  flags->picture.add_to(*app);
  json->excludes(app->get_option("--format"));
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
