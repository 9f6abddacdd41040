// What ranges of costs mean for an answer, as JSON.
#include <nlohmann/json.hpp>

#include "engine/include/twill_ranges.hpp"
#include "graph/io/fraction_io.hpp"

namespace twill {
namespace {

nlohmann::ordered_json interval_json(const IntervalAt& answer) {
  nlohmann::ordered_json json = {{"status", to_string(answer.status)}};
  if (answer.interval) json["initiation_interval"] = *answer.interval;
  if (answer.lower_bound > 0) json["lower_bound"] = answer.lower_bound;
  if (!answer.refused.empty()) json["refused"] = answer.refused;
  return json;
}

}  // namespace

std::string ranges_json(const RangeReport& report, const LayoutsSolution& worst) {
  const Solution& solution = worst.solution();
  const Cycle interval = solution.schedule ? solution.schedule->initiation_interval : 0;
  nlohmann::ordered_json json = {
      {"format", "twill.ranges"},
      {"version", 1},
      {"schedule", nlohmann::ordered_json::parse(schedule_text(worst.layout().problem, solution))}};
  if (!report.checks.empty()) {
    nlohmann::ordered_json judged = {{"initiation_interval", interval},
                                     {"proved", report.not_proved.empty() && report.holds()}};
    if (!report.not_proved.empty()) judged["no_relaxation"] = report.not_proved;
    judged["judged"] = nlohmann::ordered_json::array();
    for (const RangeCheck& check : report.checks) {
      nlohmann::ordered_json one = {{"costs", check.text},
                                    {"accepted", !check.refused && check.broken.empty()}};
      if (!check.broken.empty()) one[check.refused ? "no_loop" : "broken"] = check.broken;
      judged["judged"].push_back(std::move(one));
    }
    json["worst_case"] = std::move(judged);
  }
  if (report.nominal) json["nominal"] = interval_json(*report.nominal);
  if (report.best) json["best"] = interval_json(*report.best);
  json["ranges"] = nlohmann::ordered_json::array();
  for (const RangeWeight& weight : report.weights) {
    const CostRange& range = report.ranges[weight.range];
    nlohmann::ordered_json one = {{"place", range.place},
                                  {"nominal", fraction_json(range.nominal)},
                                  {"low", fraction_json(range.low)},
                                  {"high", fraction_json(range.high)},
                                  {"worst", range.rate ? "low" : "high"},
                                  {"used", weight.used},
                                  {"at_best", interval_json(weight.at_best)}};
    json["ranges"].push_back(std::move(one));
  }
  json["complete"] = report.complete;
  return json.dump(2) + "\n";
}

}  // namespace twill
