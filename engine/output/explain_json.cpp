// Explanations, sensitivities, evaluations and differences as JSON.
#include <nlohmann/json.hpp>

#include "engine/include/twill_explain.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

using Json = nlohmann::ordered_json;

/// Names come from files, which are UTF-8; what else there is does no harm.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string explanation_json(const Problem& problem, const IntervalExplanation& e) {
  Json json = {{"problem", problem.name},           {"initiation_interval", e.ii},
               {"verdict", to_string(e.verdict())}, {"clash", e.texts(false)},
               {"forced_by", e.texts(true)},        {"minimal", e.minimal}};
  if (e.ii == 0) json.erase("initiation_interval");
  json["relaxations"] = Json::array();
  for (const Relaxation& r : e.relaxations)
    json["relaxations"].push_back({{"change", r.text}, {"verdict", to_string(r.tried.verdict)}});
  return text_of(json);
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
