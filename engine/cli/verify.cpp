// twill verify: the independent judge of a schedule file.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/cli/cli.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"

namespace twill::cli {
namespace {

struct VerifyFlags {
  std::string problem;
  std::string schedule;
  bool quiet = false;
  bool json = false;
};

/// The first thing wrong with the schedule file, if any: that it is for another problem, that it
/// holds no schedule, that it claims better than its own proved bounds, or a rule of the model.
std::optional<Violation> judge(const Problem& problem, const std::string& problem_bytes,
                               const Solution& solution) {
  const std::string expected = sha256(problem_bytes);
  if (solution.problem_sha256 != expected) {
    return Violation{"problem_sha256", "the schedule is for problem " + solution.problem_sha256 +
                                           ", this problem is " + expected};
  }
  if (!solution.schedule) {
    return Violation{"schedule", std::string("the file holds none: its status is ") +
                                     to_string(solution.status)};
  }
  const Schedule& schedule = *solution.schedule;
  if (auto violation = verify(problem, schedule)) return violation;
  if (solution.ii_lower_bound > schedule.initiation_interval) {
    return Violation{"lower bound", "I = " + std::to_string(schedule.initiation_interval) +
                                        " is below the bound " +
                                        std::to_string(solution.ii_lower_bound) + " of the file"};
  }
  if (solution.ii_lower_bound == schedule.initiation_interval &&
      solution.length_lower_bound > schedule.length) {
    return Violation{"lower bound",
                     "L = " + std::to_string(schedule.length) + " is below the bound " +
                         std::to_string(solution.length_lower_bound) + " of the file"};
  }
  if (const auto& time = solution.whole_time; time && time->lower_bound > time->cycles) {
    return Violation{"lower bound", std::to_string(time->cycles) + " cycles of " +
                                        std::to_string(time->iterations) +
                                        " iterations are below the bound " +
                                        std::to_string(time->lower_bound) + " of the file"};
  }
  return std::nullopt;
}

int run(const VerifyFlags& flags) {
  if (flags.problem == "-" && flags.schedule == "-") {
    throw InputError("command line", "SCHEDULE", "\"-\"",
                     "problem and schedule cannot both be standard input");
  }
  const std::string bytes = read_file(flags.problem);
  const Problem problem = parse_problem(bytes, flags.problem);
  const Solution solution = read_schedule(problem, flags.schedule);
  const std::optional<Violation> violation = judge(problem, bytes, solution);
  if (flags.json) {
    nlohmann::ordered_json answer = {{"accepted", !violation}};
    if (violation) {
      answer["rule"] = violation->rule;
      answer["text"] = violation->text;
    }
    std::cout << answer.dump(2) << "\n";
  } else if (violation) {
    std::cout << "refused: " << printable(violation->rule) << ": " << printable(violation->text)
              << "\n";
  } else {
    std::cout << "accepted: I = " << solution.schedule->initiation_interval
              << ", L = " << solution.schedule->length << "\n";
  }
  return violation ? kNo : kDone;
}

}  // namespace

Command verify_command(CLI::App& program) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* app = program.add_subcommand(
      "verify", "Judge a schedule by replaying it: 0 accepted, 1 refused, 2 unreadable");
  app->add_option("PROBLEM", flags->problem, "Problem file; - = standard input")->required();
  app->add_option("SCHEDULE", flags->schedule, "Schedule file; - = standard input")->required();
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "Print the answer as JSON");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
