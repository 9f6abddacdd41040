#include "engine/cli/ranges.hpp"

#include <algorithm>

#include "engine/output/style.hpp"
#include "graph/io/fraction_io.hpp"

namespace twill::cli {
namespace {

constexpr std::size_t kShown = 5;  // ranges in text; JSON has all

std::string interval_text(const IntervalAt& answer) {
  if (!answer.refused.empty()) return "no loop has these costs: " + printable(answer.refused);
  if (answer.status == Status::infeasible) return "no schedule";
  if (answer.status == Status::optimal) return std::to_string(*answer.interval);
  const std::string bound =
      answer.lower_bound > 0 ? "at least " + std::to_string(answer.lower_bound) : "";
  if (answer.interval)
    return "at most " + std::to_string(*answer.interval) + (bound.empty() ? "" : ", " + bound);
  return bound.empty() ? "not known (stopped)" : bound;
}

std::string range_text(const CostRange& range) {
  return printable(range.place) + "  " + fraction_text(range.nominal) + " (" +
         fraction_text(range.low) + " to " + fraction_text(range.high) + ")";
}

std::size_t loops(const RangeReport& report) {
  return static_cast<std::size_t>(
      std::count_if(report.checks.begin(), report.checks.end(),
                    [](const RangeCheck& check) { return !check.refused; }));
}

}  // namespace

std::string ranges_warning(const RangeReport& report) {
  if (report.checks.empty()) return "";
  std::string text;
  for (const RangeCheck& check : report.checks) {
    if (check.refused || check.broken.empty()) continue;
    text = "with " + check.text + " the schedule breaks " + check.broken;
    break;
  }
  if (!report.not_proved.empty())
    text += (text.empty() ? "" : "; ") + ("no relaxation: " + report.not_proved);
  return text.empty() ? ""
                      : "I is not proved to be the worst case of the ranges: " + printable(text);
}

std::string ranges_text(const RangeReport& report, Cycle interval) {
  std::string text =
      "Costs that the machine gives as ranges: " + std::to_string(report.ranges.size()) + "\n";
  const auto line = [&](const std::string& words) { text += "  " + words + "\n"; };
  if (!report.checks.empty()) {
    const std::string warning = ranges_warning(report);
    if (warning.empty())
      line("I " + std::to_string(interval) + " at their worst ends; the same starts and slots " +
           "keep it wherever the costs are in their ranges (proved)");
    else
      line("I " + std::to_string(interval) + " at their worst ends; " + warning);
    line("judged with the same starts and slots, " +
         std::string(report.holds() ? "accepted" : "REFUSED") +
         ": nominal costs, best ends, each range alone at its best end (" +
         std::to_string(loops(report)) + " of " + std::to_string(report.checks.size()) +
         " are costs of a loop)");
  }
  if (report.nominal) line("I with the nominal costs: " + interval_text(*report.nominal));
  if (report.best) line("I at their best ends: " + interval_text(*report.best));
  if (report.weights.empty()) return text;
  line("I with one range alone at its best end, most gained first:");
  std::size_t shown = 0;
  for (const RangeWeight& weight : report.weights) {
    if (shown == kShown) break;
    const bool gains = !weight.at_best.interval || *weight.at_best.interval != interval;
    if (!gains) continue;
    ++shown;
    line("  " + interval_text(weight.at_best) + "  " + range_text(report.ranges[weight.range]));
  }
  const std::size_t rest = report.weights.size() - shown;
  if (rest > 0)
    line("  " + std::to_string(rest) + (shown > 0 ? " more" : "") +
         (shown == kShown ? " (--json has all)" : " change nothing alone"));
  return text;
}

}  // namespace twill::cli
