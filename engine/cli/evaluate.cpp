// twill evaluate: what binds in a given schedule, and how far it is from the optimum; of one that
// breaks a rule, which ones, and what still can be said.
// twill diff: what two schedules of one problem do differently.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/pins.hpp"
#include "engine/cli/search_options.hpp"
#include "engine/include/twill_explain.hpp"
#include "engine/output/html.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"

namespace twill::cli {
namespace {

using Json = nlohmann::ordered_json;

struct EvaluateFlags {
  std::string problem, schedule;
  PinFlags pins;
  SearchFlags search;
  bool optimum = true;
  bool sensitivity = false;
  bool json = false;
};

struct DiffFlags {
  std::string problem, first, second, format, output;
  bool json = false;
};

/// What a file has, which must hold a schedule.
Solution solution_of(const Problem& problem, const std::string& path) {
  Solution solution = read_schedule(problem, path);
  if (!solution.schedule)
    throw InputError(path, "/status", to_string(solution.status), "the file must hold a schedule");
  return solution;
}

Schedule schedule_of(const Problem& problem, const std::string& path) {
  return *solution_of(problem, path).schedule;
}

/// The same, of a schedule that the judge accepts: no other is compared.
Solution accepted_solution(const Problem& problem, const std::string& path) {
  Solution solution = solution_of(problem, path);
  if (const auto violation = verify(problem, *solution.schedule))
    throw InputError(path, "/ops", violation->text,
                     "the schedule breaks the rule " + violation->rule);
  return solution;
}

std::string shown(const Json& text) {
  return printable(text.get<std::string>());
}

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

void print_critical(const Json& json) {
  if (!json.contains("critical_recurrence")) return;
  const Json& critical = json["critical_recurrence"];
  std::cout << "critical recurrence of these orders: " << critical["cycles"] << " cycles over "
            << plural(critical["iterations"].get<std::int64_t>(), "iteration")
            << ", I >= " << critical["initiation_interval"] << "\n";
  for (const Json& step : critical["steps"])
    std::cout << "  " << shown(step["from"]) << " -> " << shown(step["to"]) << ": "
              << step["cycles"] << ", " << shown(step["reason"]) << "\n";
}

void print_binding(const Json& json) {
  std::cout << "I = " << json["initiation_interval"] << ", L = " << json["length"] << "\n";
  std::cout << "units\n";
  for (const Json& unit : json["units"])
    std::cout << "  " << shown(unit["name"]) << ": busy " << percent(unit["busy"].get<double>())
              << "\n";
  std::cout << "slots\n";
  for (const Json& slot : json["slots"])
    std::cout << "  " << shown(slot["name"]) << ": " << slot["ops"] << " ops, " << slot["cycles"]
              << " cycles, registers " << slot["registers_peak"] << " at most, "
              << slot["registers_free"] << " free\n";
  if (!json["memories"].empty()) std::cout << "memories\n";
  for (const Json& memory : json["memories"]) {
    std::cout << "  " << shown(memory["name"]) << ": " << memory["peak"] << " at most, "
              << memory["free"] << " free\n";
    if (!memory.contains("rings")) continue;
    for (const Json& ring : memory["rings"])
      std::cout << "    ring of " << shown(ring["load"]) << ": " << ring["buffers"] << " x "
                << ring["each"] << ", in every cycle\n";
  }
  if (json.contains("channels")) std::cout << "channels\n";
  for (const Json& channel : json.value("channels", Json::array()))
    std::cout << "  " << shown(channel["name"]) << ": busy "
              << percent(channel["busy"].get<double>())
              << (channel["least"] == json["initiation_interval"] ? ", binds" : "") << "\n";
  std::cout << "bounds on I\n";
  for (const Json& bound : json["bounds"])
    std::cout << "  " << bound["value"] << "  " << shown(bound["name"]) << ": "
              << shown(bound["text"]) << "\n";
}

void print_sensitivity(const Json& ranges) {
  std::cout << "sensitivity: cycles with which I stays the smallest (and with these slots)\n";
  for (const Json& range : ranges) {
    const auto end = [&](const char* key) {
      return range[key].is_null() ? std::string("any") : range[key].dump();
    };
    std::cout << "  " << shown(range["op"]) << " " << range["cycles"] << ": " << range["least"]
              << " to " << end("most") << " (" << end("most_with_slots") << ")"
              << (range["decided"].get<bool>() ? "" : ", not all decided") << "\n";
  }
}

/// The search for the optimum beside a schedule, into `json`. The exit code of what it left open.
int compare_with_optimum(const EvaluateFlags& flags, const Problem& problem,
                         const Schedule& schedule, bool accepted, Json& json,
                         std::string& stopped) {
  Interrupt interrupt;
  const Solution best = solve(problem, flags.search.options(), interrupt.token());
  int code = best.status == Status::optimal ? kDone : kStopped;
  const double given = static_cast<double>(schedule.initiation_interval);
  const Cycle ii = best.schedule ? best.schedule->initiation_interval : best.ii_lower_bound;
  Json& optimum = json["optimum"];
  optimum = {{"status", to_string(best.status)},
             {"initiation_interval", ii},
             {"lower_bound", best.ii_lower_bound}};
  // What breaks a rule gives nothing away, and may be faster than the optimum.
  if (accepted) optimum["gap"] = share(given - static_cast<double>(ii), given);
  if (best.schedule) optimum["length"] = best.schedule->length;
  if (cut_short(best.stop)) optimum["stopped_by"] = to_string(best.stop);
  stopped = stop_text(best);
  if (flags.sensitivity && accepted && best.status == Status::optimal) {
    if (ii != schedule.initiation_interval)
      throw InputError("command line", "--sensitivity", flags.schedule,
                       "the schedule must have the smallest I, " + std::to_string(ii));
    const auto ranges = sensitivity(problem, schedule, flags.search.options(), interrupt.token());
    json["sensitivity"] = Json::parse(sensitivity_json(problem, ranges));
    for (const OpSensitivity& range : ranges)
      if (!range.decided) code = kStopped;
  }
  return code;
}

void print_optimum(const Json& json, const std::string& stopped) {
  const Json& best = json["optimum"];
  if (best["status"] == to_string(Status::infeasible))
    std::cout << "optimum: no schedule has any I (proved)\n";
  else if (best["status"] != to_string(Status::optimal))
    std::cout << "optimum: not proved within the limits"
              << (stopped.empty() ? "" : " (" + stopped + ")") << ", I >= " << best["lower_bound"]
              << "\n";
  else if (best.contains("gap") && best["initiation_interval"] == json["initiation_interval"] &&
           best["length"] == json["length"])
    std::cout << "optimum: this is one (proved)\n";
  else
    std::cout << "optimum: I = " << best["initiation_interval"] << ", L = " << best["length"]
              << " (proved)"
              << (best.contains("gap") ? ": the schedule gives away " +
                                             percent(best["gap"].get<double>()) + " of its time"
                                       : std::string())
              << "\n";
}

int evaluate(const EvaluateFlags& flags) {
  Problem problem = read_problem(flags.problem);
  if (flags.pins.any()) flags.pins.apply(problem, "");
  const Schedule schedule = schedule_of(problem, flags.schedule);
  const Evaluation found = twill::evaluate(problem, schedule);
  const bool accepted = found.accepted();
  Json json = Json::parse(evaluation_json(found));
  int code = kDone;
  std::string stopped;
  if (flags.optimum) code = compare_with_optimum(flags, problem, schedule, accepted, json, stopped);
  if (!accepted) code = kNo;
  if (flags.json) {
    std::cout << json.dump(2) << "\n";
    return code;
  }
  for (const Violation& violation : found.violations)
    std::cout << "refused: " << printable(violation.rule) << ": " << printable(violation.text)
              << "\n";
  if (found.placed) {
    print_binding(json);
    print_critical(json);
  }
  if (flags.optimum) print_optimum(json, stopped);
  if (json.contains("sensitivity")) print_sensitivity(json["sensitivity"]);
  return code;
}

int diff(const DiffFlags& flags) {
  const Problem problem = read_problem(flags.problem);
  if (flags.first == "-" && flags.second == "-")
    throw InputError("command line", "B", "\"-\"", "both schedules cannot be standard input");
  const Solution first = accepted_solution(problem, flags.first),
                 second = accepted_solution(problem, flags.second);
  const Schedule &a = *first.schedule, &b = *second.schedule;
  if (flags.format == "html") {
    const std::string page = html_diff(problem, first, second, flags.first, flags.second);
    if (flags.output.empty())
      std::cout << page;
    else
      write_file(flags.output, page);
    return a == b ? kDone : kNo;
  }
  if (!flags.output.empty())
    throw InputError("command line", "-o", flags.output, "needs --format html");
  const std::string text = difference_json(problem, a, b, schedule_difference(problem, a, b));
  if (flags.json) {
    std::cout << text;
  } else {
    const Json json = Json::parse(text);
    for (const Json& n : json["numbers"])
      std::cout << shown(n["name"]) << ": " << n["a"]
                << (n["a"] == n["b"] ? "" : " -> " + n["b"].dump()) << "\n";
    for (const Json& op : json["ops"])
      std::cout << "op " << shown(op["id"]) << ": " << op["a"]["start"] << " on "
                << shown(op["a"]["warp"]) << " -> " << op["b"]["start"] << " on "
                << shown(op["b"]["warp"]) << "\n";
    if (json["ops"].empty()) std::cout << "the schedules are the same\n";
  }
  return a == b ? kDone : kNo;
}

}  // namespace

Command evaluate_command(CLI::App& program) {
  auto flags = std::make_shared<EvaluateFlags>();
  CLI::App* app = program.add_subcommand(
      "evaluate",
      "What binds in a schedule, and how far it is from the optimum: 1 where it breaks a rule");
  app->add_option("PROBLEM", flags->problem, "Problem file")->required();
  app->add_option("SCHEDULE", flags->schedule, "Schedule file")->required();
  flags->pins.add_to(*app);
  app->add_flag("--no-optimum{false}", flags->optimum, "Do not search for the optimum");
  app->add_flag("--sensitivity", flags->sensitivity,
                "Of each op, the range of its cycles in which I stays the smallest")
      ->excludes("--no-optimum");
  flags->search.add_to(*app, {SearchOption::time_limit, SearchOption::memory});
  app->add_flag("--json", flags->json, "Print as JSON");
  return {app, [flags] { return evaluate(*flags); }};
}

Command diff_command(CLI::App& program) {
  auto flags = std::make_shared<DiffFlags>();
  CLI::App* app = program.add_subcommand(
      "diff", "What two schedules do differently: 0 nothing, 1 something, 2 unreadable or refused");
  app->add_option("PROBLEM", flags->problem, "Problem file")->required();
  app->add_option("A", flags->first, "Schedule file")->required();
  app->add_option("B", flags->second, "Schedule file")->required();
  auto* json = app->add_flag("--json", flags->json, "Print as JSON");
  app->add_option("--format", flags->format, "text, or html: both timelines on one page")
      ->check(CLI::IsMember({"text", "html"}))
      ->excludes(json);
  app->add_option("-o,--output", flags->output, "Write the page here, not to standard output");
  return {app, [flags] { return diff(*flags); }};
}

}  // namespace twill::cli
