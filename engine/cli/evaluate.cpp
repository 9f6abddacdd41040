// twill evaluate: what binds in a given schedule, and how far it is from the optimum; of one that
// breaks a rule, which ones, and what still can be said.
// twill diff: what two schedules of one problem do differently.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "encoders/goals.hpp"
#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/pins.hpp"
#include "engine/cli/search_options.hpp"
#include "engine/explain/sensitivity.hpp"
#include "engine/output/html.hpp"
#include "engine/output/steady_state.hpp"
#include "engine/output/style.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/bounds/tighten.hpp"
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

/// Can units, slots and memories be looked at, whatever rules the schedule breaks?
bool has_steady_state(const Problem& problem, const Schedule& schedule) {
  if (schedule.initiation_interval < 1 || schedule.start.size() != problem.ops.size() ||
      schedule.warp.size() != problem.ops.size())
    return false;
  const int slots = static_cast<int>(problem.warps.size());
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    if (schedule.start[v] < 0 || schedule.warp[v] < 0 || schedule.warp[v] >= slots) return false;
  return true;
}

std::string shown(const Json& text) {
  return printable(text.get<std::string>());
}

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

/// What every unit, slot and memory has left; of an accepted schedule also what holds its I up.
Json binding(const Problem& problem, const Schedule& schedule, bool accepted) {
  const SteadyState state = steady_state(problem, schedule);
  Json units = Json::array(), slots = Json::array(), memories = Json::array();
  for (std::size_t f = 0; f < problem.units.size(); ++f)
    units.push_back({{"name", problem.units[f].name}, {"busy", state.busy[f]}});
  for (std::size_t w = 0; w < problem.warps.size(); ++w) {
    Cycle cycles = 0;
    int ops = 0;
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      if (schedule.warp[v] == static_cast<int>(w)) {
        cycles += problem.ops[v].cycles;
        ++ops;
      }
    slots.push_back({{"name", problem.warps[w].name},
                     {"ops", ops},
                     {"cycles", cycles},
                     {"registers_peak", state.registers[w].peak},
                     {"registers_free", problem.warps[w].registers - state.registers[w].peak}});
  }
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    memories.push_back({{"name", problem.memories[m].name},
                        {"peak", state.memories[m].peak},
                        {"free", problem.memories[m].capacity - state.memories[m].peak}});
    if (!problem.memories[m].rings) continue;
    Json rings = Json::array();
    for (const ChargedRing& ring : state.memories[m].rings)
      rings.push_back({{"load", problem.ops[static_cast<std::size_t>(ring.load)].id},
                       {"buffers", ring.buffers},
                       {"each", ring.each}});
    memories.back()["rings"] = std::move(rings);
  }
  Json channels = Json::array();
  for (const ChannelUse& use : channel_uses(problem))
    channels.push_back({{"name", problem.channels[static_cast<std::size_t>(use.channel)].name},
                        {"busy", channel_load(problem, use.channel, schedule.initiation_interval)},
                        {"least", use.least},
                        {"text", use.sum}});
  Json bounds = Json::array();
  for (const Bound& bound : lower_bounds(problem))
    bounds.push_back({{"name", bound.name}, {"value", bound.value}, {"text", bound.text}});
  Json json = {{"initiation_interval", schedule.initiation_interval},
               {"length", schedule.length},
               {"units", units},
               {"slots", slots},
               {"memories", memories}};
  if (!channels.empty()) json["channels"] = std::move(channels);
  json["bounds"] = std::move(bounds);
  if (!accepted) return json;
  if (const auto critical = critical_recurrence(problem, schedule)) {
    Json steps = Json::array();
    for (const CriticalRecurrence::Step& step : critical->steps)
      steps.push_back({{"from", problem.ops[static_cast<std::size_t>(step.from)].id},
                       {"to", problem.ops[static_cast<std::size_t>(step.to)].id},
                       {"cycles", step.cycles},
                       {"reason", step.reason}});
    json["critical_recurrence"] = {{"initiation_interval", critical->ii},
                                   {"cycles", critical->cycles},
                                   {"iterations", critical->iterations},
                                   {"steps", steps}};
  }
  return json;
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

Json sensitivity_json(const Problem& problem, const std::vector<OpSensitivity>& ranges) {
  Json json = Json::array();
  const auto end = [](const std::optional<Cycle>& most) { return most ? Json(*most) : Json(); };
  for (const OpSensitivity& range : ranges)
    json.push_back({{"op", problem.ops[static_cast<std::size_t>(range.op)].id},
                    {"cycles", problem.ops[static_cast<std::size_t>(range.op)].cycles},
                    {"least", range.least},
                    {"most", end(range.most)},
                    {"most_with_slots", end(range.most_with_slots)},
                    {"decided", range.decided}});
  return json;
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
    json["sensitivity"] = sensitivity_json(problem, ranges);
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
  const std::vector<Violation> violations = verify_all(problem, schedule);
  const bool accepted = violations.empty();
  Json json = Json::object();
  if (!accepted) {
    json["accepted"] = false;
    json["violations"] = Json::array();
    for (const Violation& violation : violations)
      json["violations"].push_back({{"rule", violation.rule}, {"text", violation.text}});
  }
  const bool numbers = accepted || has_steady_state(problem, schedule);
  if (numbers) json.update(binding(problem, schedule, accepted));
  int code = kDone;
  std::string stopped;
  if (flags.optimum) code = compare_with_optimum(flags, problem, schedule, accepted, json, stopped);
  if (!accepted) code = kNo;
  if (flags.json) {
    std::cout << json.dump(2) << "\n";
    return code;
  }
  for (const Violation& violation : violations)
    std::cout << "refused: " << printable(violation.rule) << ": " << printable(violation.text)
              << "\n";
  if (numbers) {
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
  Json numbers = Json::array(), ops = Json::array();
  const auto number = [&](const std::string& name, std::int64_t x, std::int64_t y) {
    numbers.push_back({{"name", name}, {"a", x}, {"b", y}});
  };
  number("I", a.initiation_interval, b.initiation_interval);
  number("L", a.length, b.length);
  number("stages", stage_count(a), stage_count(b));
  std::vector<std::string> goals = kDefaultGoals;
  for (const Memory& memory : problem.memories) goals.push_back("memory:" + memory.name);
  for (const std::string& goal : goals) {
    const GoalMeasure measure = parse_goal(problem, goal);
    number(goal, goal_value(problem, a, measure), goal_value(problem, b, measure));
  }
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    if (a.start[v] == b.start[v] && a.warp[v] == b.warp[v]) continue;
    const auto place = [&](const Schedule& s) {
      return Json{{"start", s.start[v]},
                  {"warp", problem.warps[static_cast<std::size_t>(s.warp[v])].name}};
    };
    ops.push_back({{"id", problem.ops[v].id}, {"a", place(a)}, {"b", place(b)}});
  }
  if (flags.json) {
    std::cout << Json{{"numbers", numbers}, {"ops", ops}}.dump(2) << "\n";
  } else {
    for (const Json& n : numbers)
      std::cout << shown(n["name"]) << ": " << n["a"]
                << (n["a"] == n["b"] ? "" : " -> " + n["b"].dump()) << "\n";
    for (const Json& op : ops)
      std::cout << "op " << shown(op["id"]) << ": " << op["a"]["start"] << " on "
                << shown(op["a"]["warp"]) << " -> " << op["b"]["start"] << " on "
                << shown(op["b"]["warp"]) << "\n";
    if (ops.empty()) std::cout << "the schedules are the same\n";
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
