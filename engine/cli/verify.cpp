// twill verify: the independent judges of schedule files and of program files.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/cli/cli.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/program/compare.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/program_io.hpp"
#include "graph/restriction.hpp"

namespace twill::cli {
namespace {

struct VerifyFlags {
  std::string problem;
  std::string schedule;
  std::string program;
  bool quiet = false;
  bool json = false;
  bool sequences = false;
};

/// What is wrong with the schedule file: that it is for another problem, that it holds no schedule,
/// every rule of the model that it breaks, or that it claims better than its own proved bounds.
std::vector<Violation> judge(const Problem& problem, const std::string& problem_bytes,
                             const Solution& solution) {
  const std::string expected = sha256(problem_bytes);
  if (solution.problem_sha256 != expected) {
    return {{"problem_sha256", "the schedule is for problem " + solution.problem_sha256 +
                                   ", this problem is " + expected}};
  }
  if (!solution.schedule) {
    return {{"schedule",
             std::string("the file holds none: its status is ") + to_string(solution.status)}};
  }
  const Schedule& schedule = *solution.schedule;
  if (auto violations = verify_all(problem, schedule); !violations.empty()) return violations;
  if (solution.ii_lower_bound > schedule.initiation_interval) {
    return {{"lower bound", "I = " + std::to_string(schedule.initiation_interval) +
                                " is below the bound " + std::to_string(solution.ii_lower_bound) +
                                " of the file"}};
  }
  if (solution.ii_lower_bound == schedule.initiation_interval &&
      solution.length_lower_bound > schedule.length) {
    return {{"lower bound", "L = " + std::to_string(schedule.length) + " is below the bound " +
                                std::to_string(solution.length_lower_bound) + " of the file"}};
  }
  if (const auto& slack = solution.length_slack; slack && schedule.length > slack->at_most)
    return {{"length slack", "L = " + std::to_string(schedule.length) + " is more than the " +
                                 std::to_string(slack->at_most) + " of the file"}};
  if (const auto& time = solution.whole_time; time && time->lower_bound > time->cycles) {
    return {{"lower bound", std::to_string(time->cycles) + " cycles of " +
                                std::to_string(time->iterations) +
                                " iterations are below the bound " +
                                std::to_string(time->lower_bound) + " of the file"}};
  }
  return {};
}

/// The first thing wrong with a program, beside the schedule that it is to be of.
std::optional<Violation> judge_program(const program::Program& program, const Problem& problem,
                                       const Solution& solution) {
  if (program.problem_sha256 != solution.problem_sha256)
    return Violation{"problem_sha256", "the program is for problem " + program.problem_sha256 +
                                           ", the schedule for " + solution.problem_sha256};
  if (program.status != to_string(solution.status) ||
      program.ii_lower_bound != solution.ii_lower_bound)
    return Violation{"schedule", "the program says " + program.status +
                                     ", I >= " + std::to_string(program.ii_lower_bound) +
                                     ", the schedule says " + to_string(solution.status) +
                                     ", I >= " + std::to_string(solution.ii_lower_bound)};
  if (const std::string only = restriction_of(solution); program.searched_only != only)
    return Violation{"schedule", "the program is about schedules \"" + program.searched_only +
                                     "\", the schedule's search about \"" + only + "\""};
  auto fault = program::compare(program, problem, *solution.schedule);
  if (!fault) fault = program::judge(program);
  if (fault) return Violation{fault->rule, fault->text};
  return std::nullopt;
}

int answer(const VerifyFlags& flags, const std::vector<Violation>& violations,
           const std::string& accepted, const std::vector<std::string>& witness = {}) {
  if (flags.json) {
    nlohmann::ordered_json answer = {{"accepted", violations.empty()}};
    if (!violations.empty()) {
      answer["rule"] = violations.front().rule;
      answer["text"] = violations.front().text;
      answer["violations"] = nlohmann::ordered_json::array();
      for (const Violation& violation : violations)
        answer["violations"].push_back({{"rule", violation.rule}, {"text", violation.text}});
      if (!witness.empty()) answer["witness"] = witness;
    }
    std::cout << answer.dump(2) << "\n";
  }
  for (const Violation& violation : violations)
    if (!flags.json)
      std::cout << "refused: " << printable(violation.rule) << ": " << printable(violation.text)
                << "\n";
  if (violations.empty() && !flags.json) std::cout << "accepted: " << accepted << "\n";
  return violations.empty() ? kDone : kNo;
}

/// A program file alone.
int run_program(const VerifyFlags& flags, const std::string& bytes) {
  const program::Program program = program::parse_program(bytes, flags.problem);
  auto fault = program::judge(program);
  if (!fault && flags.sequences) fault = program::judge_tiles(program);
  if (fault) return answer(flags, {{fault->rule, fault->text}}, "", fault->witness);
  return answer(
      flags, {},
      "I = " + std::to_string(program.initiation_interval) +
          ", right at every trip count (n = 0 .. " +
          std::to_string(*program::enough_iterations(program)) + " stand for all)" +
          (flags.sequences ? ", and of runs one after the other at every sequence of them" : ""));
}

int run(const VerifyFlags& flags) {
  int inputs = 0;
  for (const std::string& file : {flags.problem, flags.schedule, flags.program})
    inputs += file == "-" ? 1 : 0;
  if (inputs > 1) {
    throw InputError("command line", flags.schedule == "-" ? "SCHEDULE" : "PROGRAM", "\"-\"",
                     inputs == 2 && flags.program != "-"
                         ? "problem and schedule cannot both be standard input"
                         : "only one file can be standard input");
  }
  const std::string bytes = read_file(flags.problem);
  if (json_format(bytes) == "twill.program") {
    if (!flags.schedule.empty())
      throw InputError("command line", "SCHEDULE", quote(flags.schedule),
                       "a program goes after its problem and schedule, or alone");
    return run_program(flags, bytes);
  }
  if (flags.schedule.empty())
    throw InputError("command line", "SCHEDULE", "nothing", "a problem needs a schedule file");
  if (flags.sequences)
    throw InputError("command line", "--sequences", "true", "is for a program file alone");
  const Problem problem = parse_problem(bytes, flags.problem);
  const Solution solution = read_schedule(problem, flags.schedule);
  std::vector<Violation> violations = judge(problem, bytes, solution);
  if (violations.empty() && !flags.program.empty())
    if (auto fault = judge_program(program::read_program(flags.program), problem, solution))
      violations.push_back(*std::move(fault));
  std::string accepted;
  if (violations.empty()) {
    accepted = "I = " + std::to_string(solution.schedule->initiation_interval) +
               ", L = " + std::to_string(solution.schedule->length);
    if (!flags.program.empty())
      accepted += "; the program is of this schedule and right at every trip count";
  }
  return answer(flags, violations, accepted);
}

}  // namespace

Command verify_command(CLI::App& program) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* app = program.add_subcommand(
      "verify", "Judge a schedule or a program: 0 accepted, 1 refused, 2 unreadable");
  app->add_option("PROBLEM", flags->problem,
                  "Problem file, or a program file alone; - = standard input")
      ->required();
  app->add_option("SCHEDULE", flags->schedule, "Schedule file; - = standard input");
  app->add_option("PROGRAM", flags->program, "Program file that is to be of this schedule");
  app->add_flag("--sequences", flags->sequences,
                "Of a program file alone: also runs one after the other, as of a persistent "
                "kernel, with every\n"
                "sequence of trip counts");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "Print the answer as JSON");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
