// Explanations, sensitivities, evaluations and differences as JSON; the certificates of the first.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/include/twill_explain.hpp"
#include "graph/index.hpp"
#include "graph/io/file.hpp"

namespace twill {
namespace {

using Json = nlohmann::ordered_json;

/// Names come from files, which are UTF-8; what else there is does no harm.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// "relaxation-03": the folder of a change's certificate.
std::string relaxation_folder(std::size_t relaxation) {
  const std::string number = std::to_string(relaxation + 1);
  return "relaxation-" + std::string(number.size() < 2 ? 2 - number.size() : 0, '0') + number;
}

}  // namespace

void require_new_directory(const std::string& directory) {
  std::error_code error;
  if (std::filesystem::exists(directory, error) && !std::filesystem::is_empty(directory, error))
    throw InputError(directory, "/", directory, "must not exist or be an empty directory");
}

void write_explanation(const std::string& directory, const Problem& problem,
                       const IntervalExplanation& e) {
  const std::filesystem::path within = directory;
  std::error_code error;
  require_new_directory(directory);
  std::filesystem::create_directories(within, error);
  if (error) throw InputError(directory, "/", directory, "cannot be made: " + error.message());
  const auto write = [&](const std::string& name, const Tried& tried) {
    if (tried.verdict != Verdict::unknown)
      write_certificate((within / name).string(), tried.problem, tried.solution);
  };
  write("question", e.question);
  for (std::size_t i = 0; i < e.relaxations.size(); ++i)
    write(relaxation_folder(i), e.relaxations[i].tried);
  write_file((within / "explanation.json").string(), explanation_json(problem, e, true));
}

std::string explanation_json(const Problem& problem, const IntervalExplanation& e, bool certified) {
  Json json = {{"problem", problem.name},           {"initiation_interval", e.ii},
               {"verdict", to_string(e.verdict())}, {"clash", e.texts(false)},
               {"forced_by", e.texts(true)},        {"minimal", e.minimal}};
  if (e.ii == 0) json.erase("initiation_interval");
  if (certified && e.verdict() != Verdict::unknown) json["certificate"] = "question";
  json["relaxations"] = Json::array();
  for (std::size_t i = 0; i < e.relaxations.size(); ++i) {
    const Relaxation& r = e.relaxations[i];
    Json change = {{"change", r.text}, {"verdict", to_string(r.tried.verdict)}};
    if (certified && r.tried.verdict != Verdict::unknown)
      change["certificate"] = relaxation_folder(i);
    json["relaxations"].push_back(std::move(change));
  }
  return text_of(json);
}

std::string explanation_json(const LayoutExplanation& explained, bool certified) {
  if (explained.explanation)
    return explanation_json(explained.problem, *explained.explanation, certified);
  return text_of(
      {{"problem", explained.problem.name}, {"verdict", to_string(explained.solution.status)}});
}

std::string sensitivity_json(const Problem& problem, const std::vector<OpSensitivity>& ranges) {
  Json json = Json::array();
  const auto end = [](const std::optional<Cycle>& most) { return most ? Json(*most) : Json(); };
  for (const OpSensitivity& range : ranges)
    json.push_back({{"op", problem.ops[at(range.op)].id},
                    {"cycles", problem.ops[at(range.op)].cycles},
                    {"least", range.least},
                    {"most", end(range.most)},
                    {"most_with_slots", end(range.most_with_slots)},
                    {"decided", range.decided}});
  return text_of(json);
}

std::string evaluation_json(const Evaluation& e) {
  Json json = Json::object();
  if (!e.accepted()) {
    json["accepted"] = false;
    json["violations"] = Json::array();
    for (const Violation& violation : e.violations)
      json["violations"].push_back({{"rule", violation.rule}, {"text", violation.text}});
  }
  if (!e.placed) return text_of(json);
  Json units = Json::array(), slots = Json::array(), memories = Json::array();
  for (const Evaluation::Unit& unit : e.units)
    units.push_back({{"name", unit.name}, {"busy", unit.busy}});
  for (const Evaluation::Slot& slot : e.slots)
    slots.push_back({{"name", slot.name},
                     {"ops", slot.ops},
                     {"cycles", slot.cycles},
                     {"registers_peak", slot.registers_peak},
                     {"registers_free", slot.registers_free}});
  for (const Evaluation::Memory& memory : e.memories) {
    memories.push_back({{"name", memory.name}, {"peak", memory.peak}, {"free", memory.free}});
    if (!memory.rings) continue;
    Json rings = Json::array();
    for (const Evaluation::Ring& ring : *memory.rings)
      rings.push_back({{"load", ring.load}, {"buffers", ring.buffers}, {"each", ring.each}});
    memories.back()["rings"] = std::move(rings);
  }
  json["initiation_interval"] = e.initiation_interval;
  json["length"] = e.length;
  json["units"] = std::move(units);
  json["slots"] = std::move(slots);
  json["memories"] = std::move(memories);
  if (!e.channels.empty()) json["channels"] = Json::array();
  for (const Evaluation::Channel& channel : e.channels)
    json["channels"].push_back({{"name", channel.name},
                                {"busy", channel.busy},
                                {"least", channel.least},
                                {"text", channel.text}});
  json["bounds"] = Json::array();
  for (const Evaluation::LowerBound& bound : e.bounds)
    json["bounds"].push_back({{"name", bound.name}, {"value", bound.value}, {"text", bound.text}});
  if (e.critical_recurrence) {
    Json steps = Json::array();
    for (const Evaluation::Step& step : e.critical_recurrence->steps)
      steps.push_back(
          {{"from", step.from}, {"to", step.to}, {"cycles", step.cycles}, {"reason", step.reason}});
    json["critical_recurrence"] = {{"initiation_interval", e.critical_recurrence->ii},
                                   {"cycles", e.critical_recurrence->cycles},
                                   {"iterations", e.critical_recurrence->iterations},
                                   {"steps", std::move(steps)}};
  }
  return text_of(json);
}

std::string difference_json(const Problem& problem, const Schedule& a, const Schedule& b,
                            const ScheduleDifference& difference) {
  Json numbers = Json::array(), ops = Json::array();
  for (const ScheduleDifference::Number& number : difference.numbers)
    numbers.push_back({{"name", number.name}, {"a", number.a}, {"b", number.b}});
  for (const int v : difference.ops) {
    const auto place = [&](const Schedule& s) {
      return Json{{"start", s.start[at(v)]}, {"warp", problem.warps[at(s.warp[at(v)])].name}};
    };
    ops.push_back({{"id", problem.ops[at(v)].id}, {"a", place(a)}, {"b", place(b)}});
  }
  return text_of({{"numbers", std::move(numbers)}, {"ops", std::move(ops)}});
}

}  // namespace twill
