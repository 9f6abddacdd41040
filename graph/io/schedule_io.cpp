#include "graph/schedule_io.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "graph/bounds/whole_time.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_reader.hpp"
#include "graph/io/json_writer.hpp"

namespace twill {
namespace {

constexpr const char* kStoppedBy = "stopped by";  // among the options

using Index = std::unordered_map<std::string, int>;

constexpr const char* kScheduleFormat = "twill.schedule";
constexpr int kScheduleVersion = 2;          // 1 without a whole time, a slack of L, what made it
constexpr std::size_t kMostMadeBy = 10'000;  // settings, and options

std::string said(const JsonValue& value) {
  if (value.text().empty()) value.fail("must not be empty");
  return value.text();
}

bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// "complete", "paper" or a positive number in decimal.
bool is_stages(const std::string& text) {
  if (text == "complete" || text == "paper") return true;
  return !text.empty() && text.size() <= 18 && text[0] != '0' &&
         text.find_first_not_of("0123456789") == text.npos;
}

void read_ops(const Problem& problem, const JsonValue& ops, Schedule& schedule) {
  Index op_index, slot_index;
  for (const Op& op : problem.ops) op_index.emplace(op.id, static_cast<int>(op_index.size()));
  for (const WarpSlot& slot : problem.warps)
    slot_index.emplace(slot.name, static_cast<int>(slot_index.size()));
  schedule.start.assign(problem.ops.size(), -1);
  schedule.warp.assign(problem.ops.size(), -1);
  for (const JsonValue& value : ops.elements()) {
    value.check_keys({"id", "start", "warp"});
    const JsonValue id = value.at("id"), on = value.at("warp");
    const auto op = op_index.find(id.text());
    if (op == op_index.end()) id.fail("must be the id of an op of the problem");
    const auto slot = slot_index.find(on.text());
    if (slot == slot_index.end()) on.fail("must be the name of a warp slot of the problem");
    const auto v = static_cast<std::size_t>(op->second);
    if (schedule.start[v] >= 0) id.fail("each op must be listed once");
    schedule.start[v] = value.at("start").integer(0, kMaxStart);
    schedule.warp[v] = slot->second;
  }
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    if (schedule.start[v] < 0) ops.fail("op " + quote(problem.ops[v].id) + " is missing");
}

/// The schedule itself: required with a status that has one, refused with one that has none.
void read_schedule_part(const Problem& problem, const JsonValue& root, Solution& solution) {
  constexpr const char* kKeys[] = {"initiation_interval", "length", "ops"};
  if (solution.status == Status::infeasible || solution.status == Status::unknown) {
    for (const char* key : kKeys)
      if (const auto value = root.find(key))
        value->fail(std::string("must be absent with status ") + to_string(solution.status));
    return;
  }
  Schedule schedule;
  schedule.initiation_interval = root.at("initiation_interval").integer(1, kMaxInterval);
  schedule.length = root.at("length").integer(0, kMaxStart + kMaxCycles);
  read_ops(problem, root.at("ops"), schedule);
  solution.schedule = std::move(schedule);
  root.at("lower_bound");
}

/// {"twill": "1.0.0", "machine": "hopper", "machine_sha256": "...", "layout": "2x4",
/// "settings": ["units.SFU=2"], "options": {"reading": "machine"}}.
MadeBy read_made_by(const JsonValue& json) {
  json.check_keys({"twill", "machine", "machine_sha256", "layout", "settings", "options"});
  MadeBy made;
  made.twill = said(json.at("twill"));
  made.machine = said(json.at("machine"));
  const JsonValue hash = json.at("machine_sha256");
  made.machine_sha256 = hash.text();
  if (!is_sha256(made.machine_sha256)) hash.fail("must be 64 lower-case hexadecimal digits");
  made.layout = said(json.at("layout"));
  for (const JsonValue& setting : json.at("settings").elements_up_to(kMostMadeBy)) {
    const std::size_t sign = setting.text().find('=');
    if (sign == std::string::npos || sign == 0) setting.fail("must be PATH=VALUE");
    made.settings.push_back(setting.text());
  }
  for (const auto& [name, value] : json.at("options").members_up_to(kMostMadeBy))
    made.options.emplace_back(name, value.text());
  return made;
}

/// {"iterations": 16, "cycles": 1234, "lower_bound": 1200}: cycles with a schedule only, and then
/// what its I and L say.
WholeTime read_whole_time(const JsonValue& json, const std::optional<Schedule>& schedule) {
  constexpr Cycle kMost = kMaxIterations * kMaxInterval;
  json.check_keys({"iterations", "lower_bound"}, {"cycles"});
  WholeTime time;
  time.iterations = json.at("iterations").integer(1, kMaxIterations);
  time.lower_bound = json.at("lower_bound").integer(0, kMost + kMaxStart + kMaxCycles);
  const auto cycles = json.find("cycles");
  if (!schedule) {
    if (cycles) cycles->fail("must be absent without a schedule");
    return time;
  }
  time.cycles = whole_time(time.iterations, schedule->initiation_interval, schedule->length);
  if (json.at("cycles").integer(0, kMost + kMaxStart + kMaxCycles) != time.cycles)
    cycles->fail("must be (iterations - 1) I + L = " + std::to_string(time.cycles));
  return time;
}

void read_optional(const Problem& problem, const JsonValue& root, Solution& solution) {
  if (const auto bound = root.find("lower_bound")) {
    bound->check_keys({"initiation_interval"}, {"length"});
    solution.ii_lower_bound = bound->at("initiation_interval").integer(0, kMaxInterval);
    solution.length_lower_bound = bound->integer_or("length", 0, 0, kMaxStart + kMaxCycles);
  }
  if (const auto conflict = root.find("conflict"))
    for (const JsonValue& text : conflict->elements()) solution.conflict.push_back(text.text());
  if (const auto rings = root.find("ring_depths"))
    for (const auto& [id, depth] : rings->members()) {
      const bool known = std::any_of(problem.ops.begin(), problem.ops.end(),
                                     [&name = id](const Op& op) { return op.id == name; });
      if (!known) depth.fail("the key must be the id of an op of the problem");
      solution.ring_depths[id] = depth.integer(0);
    }
  if (const auto goals = root.find("goals"))
    for (const JsonValue& goal : goals->elements()) {
      goal.check_keys({"name", "value", "lower_bound"});
      solution.goals.push_back(
          {goal.at("name").text(), goal.at("value").integer(), goal.at("lower_bound").integer()});
    }
  if (const auto time = root.find("whole_time"))
    solution.whole_time = read_whole_time(*time, solution.schedule);
  if (const auto slack = root.find("length_slack")) {
    constexpr Cycle kMost = kMaxStart + kMaxCycles;
    slack->check_keys({"cycles", "at_most"});
    solution.length_slack = LengthSlack{slack->at("cycles").integer(0, kMaxCycles),
                                        slack->at("at_most").integer(0, kMost)};
    if (!solution.schedule) slack->fail("must be absent without a schedule");
  }
  if (const auto made = root.find("made_by")) solution.made_by = read_made_by(*made);
  solution.engine = root.text_or("engine", "");
  if (const auto options = root.find("options"))
    for (const auto& [name, value] : options->members()) {
      if (const Stop stop = parse_stop(value.text()); name == kStoppedBy && cut_short(stop))
        set_stop(solution, stop);
      else
        solution.options.emplace_back(name, value.text());
    }
}

bool needs_version_2(const Solution& solution) {
  return solution.whole_time || solution.length_slack || solution.made_by;
}

bool final_answer(const Solution& solution) {
  if (solution.status == Status::infeasible) return true;
  return solution.status == Status::optimal &&
         std::all_of(solution.goals.begin(), solution.goals.end(),
                     [](const Goal& goal) { return goal.lower_bound >= goal.value; });
}

}  // namespace

Solution parse_schedule(const Problem& problem, std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonValue root = document.root();
  const int version = root.check_format(kScheduleFormat, 1, kScheduleVersion);
  root.check_keys({"format", "version", "problem", "problem_sha256", "status", "search", "solver"},
                  {"initiation_interval", "length", "lower_bound", "ops", "conflict", "ring_depths",
                   "goals", "whole_time", "length_slack", "made_by", "engine", "options"});
  for (const char* key : {"whole_time", "length_slack", "made_by"})
    if (const auto value = root.find(key); value && version < 2) value->fail("needs version 2");
  Solution solution;
  solution.problem = root.at("problem").text();
  const JsonValue hash = root.at("problem_sha256");
  solution.problem_sha256 = hash.text();
  if (!is_sha256(solution.problem_sha256)) hash.fail("must be 64 lower-case hexadecimal digits");
  constexpr Status kStatus[] = {Status::optimal, Status::feasible, Status::infeasible,
                                Status::unknown};
  solution.status =
      kStatus[root.at("status").choice({"optimal", "feasible", "infeasible", "unknown"})];
  read_schedule_part(problem, root, solution);
  const JsonValue search = root.at("search");
  search.check_keys({"stages", "max_stages"});
  solution.stages = search.at("stages").text();
  if (!is_stages(solution.stages))
    search.at("stages").fail("must be \"complete\", \"paper\" or a positive number as a string");
  solution.max_stages = search.at("max_stages").integer(0);
  read_optional(problem, root, solution);
  const JsonValue solver = root.at("solver");
  solver.check_keys({"seconds", "conflicts"});
  solution.seconds = solver.at("seconds").number();
  if (solution.seconds < 0) solver.at("seconds").fail("must not be negative");
  solution.conflicts = solver.at("conflicts").integer(0);
  return solution;
}

Solution read_schedule(const Problem& problem, const std::string& path) {
  return parse_schedule(problem, read_file(path), path);
}

std::string schedule_text(const Problem& problem, const Solution& solution) {
  JsonWriter file;
  file.begin_object();
  file.member("format", kScheduleFormat);
  file.member("version", needs_version_2(solution) ? 2 : 1);
  file.member("problem", solution.problem);
  file.member("problem_sha256", solution.problem_sha256);
  file.member("status", to_string(solution.status));
  if (solution.schedule) {
    file.member("initiation_interval", solution.schedule->initiation_interval);
    file.member("length", solution.schedule->length);
  }
  if (solution.schedule || solution.ii_lower_bound > 0) {
    file.key("lower_bound");
    file.begin_object();
    file.member("initiation_interval", solution.ii_lower_bound);
    if (solution.length_lower_bound > 0) file.member("length", solution.length_lower_bound);
    file.end_object();
  }
  file.key("search");
  file.begin_object();
  file.member("stages", solution.stages);
  file.member("max_stages", solution.max_stages);
  file.end_object();
  if (solution.schedule) {
    file.key("ops");
    file.begin_array();
    for (std::size_t v = 0; v < problem.ops.size(); ++v) {
      const auto slot = static_cast<std::size_t>(solution.schedule->warp[v]);
      file.begin_object();
      file.member("id", problem.ops[v].id);
      file.member("start", solution.schedule->start[v]);
      file.member("warp", problem.warps[slot].name);
      file.end_object();
    }
    file.end_array();
  }
  if (!solution.conflict.empty()) file.member("conflict", solution.conflict);
  if (!solution.ring_depths.empty()) {
    file.key("ring_depths");
    file.begin_object();
    for (const auto& [load, depth] : solution.ring_depths) file.member(load, depth);
    file.end_object();
  }
  if (!solution.goals.empty()) {
    file.key("goals");
    file.begin_array();
    for (const Goal& goal : solution.goals) {
      file.begin_object();
      file.member("name", goal.name);
      file.member("value", goal.value);
      file.member("lower_bound", goal.lower_bound);
      file.end_object();
    }
    file.end_array();
  }
  if (const auto& time = solution.whole_time) {
    file.key("whole_time");
    file.begin_object();
    file.member("iterations", time->iterations);
    if (solution.schedule) file.member("cycles", time->cycles);
    file.member("lower_bound", time->lower_bound);
    file.end_object();
  }
  if (const auto& slack = solution.length_slack) {
    file.key("length_slack");
    file.begin_object();
    file.member("cycles", slack->cycles);
    file.member("at_most", slack->at_most);
    file.end_object();
  }
  if (const auto& made = solution.made_by) {
    file.key("made_by");
    file.begin_object();
    file.member("twill", made->twill);
    file.member("machine", made->machine);
    file.member("machine_sha256", made->machine_sha256);
    file.member("layout", made->layout);
    file.member("settings", made->settings);
    file.key("options");
    file.begin_object();
    for (const auto& [name, value] : made->options) file.member(name, value);
    file.end_object();
    file.end_object();
  }
  if (!solution.engine.empty()) file.member("engine", solution.engine);
  // What stopped a search is said where its answer is not final: files of final ones are the same
  // whether or not a limit came up on the way.
  const bool stopped = cut_short(solution.stop) && !final_answer(solution);
  if (!solution.options.empty() || stopped) {
    file.key("options");
    file.begin_object();
    for (const auto& [name, value] : solution.options) file.member(name, value);
    if (stopped) file.member(kStoppedBy, to_string(solution.stop));
    file.end_object();
  }
  file.key("solver");
  file.begin_object();
  file.member("seconds", std::isfinite(solution.seconds) ? solution.seconds : 0.0);
  file.member("conflicts", solution.conflicts);
  file.end_object();
  file.end_object();
  return std::move(file).file_text(solution.problem);
}

}  // namespace twill
