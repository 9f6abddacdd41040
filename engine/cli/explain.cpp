// twill explain: why an initiation interval cannot be reached, and what would help.

#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/workload.hpp"
#include "engine/explain_interval.hpp"
#include "engine/output/style.hpp"

namespace twill::cli {
namespace {

struct ExplainFlags {
  WorkloadFlags work;
  Options search;
  std::optional<Cycle> ii;
  bool json = false;
};

/// Without --ii: the largest interval that is refuted, one below the best; 0 = there is none to
/// explain, and `solution` says why.
Cycle interval_to_explain(const ExplainFlags& flags, const Problem& problem, std::stop_token stop,
                          Solution& solution) {
  if (flags.ii) return *flags.ii;
  solution = solve(problem, flags.search, std::move(stop));
  if (!solution.schedule || solution.ii_lower_bound != solution.schedule->initiation_interval)
    return 0;
  return solution.schedule->initiation_interval - 1;
}

void print_list(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::cout << title << "\n";
  for (const std::string& line : lines) std::cout << "  " << printable(line) << "\n";
}

/// The same with at most so many lines that begin with the same word; JSON has all.
void print_clash(const std::string& title, const std::vector<std::string>& lines) {
  constexpr int kAlike = 8;
  std::map<std::string, int> alike;
  std::vector<std::string> shown;
  int more = 0;
  for (const std::string& line : lines) {
    if (++alike[line.substr(0, line.find(' '))] > kAlike)
      ++more;
    else
      shown.push_back(line);
  }
  if (more > 0) shown.push_back("and " + std::to_string(more) + " more of these (--json has all)");
  print_list(title, shown);
}

void print(const Problem& problem, const IntervalExplanation& e) {
  const std::string at = printable(problem.name) + ": I = " + std::to_string(e.ii);
  if (e.verdict == Verdict::sat) {
    std::cout << at << " can be reached\n";
    return;
  }
  if (e.verdict == Verdict::unknown) {
    std::cout << at << " was not decided within the limits\n";
    return;
  }
  std::cout << at << " cannot be reached (proved)\n";
  print_clash(e.minimal ? "these clash; without any one of them the others can be met"
                       : "these clash; not all was decided, so that some may not be needed",
             e.clash);
  print_clash("forced by", e.forced_by);
  std::vector<std::string> enough, not_enough, open;
  for (const Relaxation& r : e.relaxations)
    (r.reaches == Verdict::sat     ? enough
     : r.reaches == Verdict::unsat ? not_enough
                                   : open)
        .push_back(r.text);
  print_list("enough alone, a schedule was found", enough);
  print_list("not enough alone (proved)", not_enough);
  print_list("not decided within the limits", open);
}

nlohmann::ordered_json json_of(const Problem& problem, const IntervalExplanation& e) {
  nlohmann::ordered_json json = {{"problem", problem.name},
                                 {"initiation_interval", e.ii},
                                 {"verdict", to_string(e.verdict)},
                                 {"clash", e.clash},
                                 {"forced_by", e.forced_by},
                                 {"minimal", e.minimal}};
  json["relaxations"] = nlohmann::ordered_json::array();
  for (const Relaxation& r : e.relaxations)
    json["relaxations"].push_back({{"change", r.text}, {"verdict", to_string(r.reaches)}});
  return json;
}

int run(const ExplainFlags& flags) {
  const Workload work = load(flags.work);
  Interrupt interrupt;
  int code = kDone;
  for (const Lowered& lowered : work.problems) {
    const Problem& problem = lowered.problem;
    if (work.problems.size() > 1 && !flags.json)
      std::cout << "layout " << printable(lowered.layout) << "\n";
    Solution solution;
    const Cycle ii = interval_to_explain(flags, problem, interrupt.token(), solution);
    if (ii == 0) {
      if (solution.status != Status::infeasible) code = kStopped;
      if (flags.json)
        std::cout << nlohmann::ordered_json{{"problem", problem.name},
                                            {"verdict", to_string(solution.status)},
                                            {"clash", solution.conflict}}
                         .dump(2)
                  << "\n";
      else if (solution.status == Status::infeasible)
        print_list(printable(problem.name) + ": no schedule at any I; these clash",
                   solution.conflict);
      else if (solution.schedule && solution.schedule->initiation_interval == 1)
        std::cout << printable(problem.name) << ": I = 1 is reached, nothing is smaller\n";
      else
        std::cout << printable(problem.name) << ": stopped before the smallest I was proved\n";
      if (solution.schedule && solution.status == Status::optimal) code = kDone;
      continue;
    }
    const IntervalExplanation e = explain_interval(problem, ii, flags.search, interrupt.token());
    if (e.verdict == Verdict::unknown) code = kStopped;
    if (flags.json)
      std::cout << json_of(problem, e).dump(2) << "\n";
    else
      print(problem, e);
  }
  return code;
}

}  // namespace

Command explain_command(CLI::App& program) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* app = program.add_subcommand(
      "explain", "Why an initiation interval cannot be reached: what clashes, what would help");
  flags->work.add_to(*app);
  app->add_option("--ii", flags->ii, "The interval (default: one below the best)")
      ->check(CLI::Range(Cycle{1}, kMaxCycles));
  app->add_option("--time-limit", flags->search.time_limit, "Seconds (0 = none)")
      ->capture_default_str();
  app->add_option("--engine", flags->search.engine, "As of solve")->capture_default_str();
  app->add_flag("--json", flags->json, "Print the explanation as JSON");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
