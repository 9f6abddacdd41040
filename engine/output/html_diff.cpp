// Two schedules of one problem on one page, to one scale.
#include <algorithm>

#include "engine/output/html.hpp"
#include "engine/output/style.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

std::string one(const Problem& problem, const Solution& solution, const std::string& name,
                Cycle widest, const std::vector<bool>& moved) {
  const Schedule& schedule = *solution.schedule;
  std::string text = "<h2>" + html_escape(name) +
                     ": I = " + std::to_string(schedule.initiation_interval) +
                     ", L = " + std::to_string(schedule.length) + "</h2>";
  if (const std::string made = made_by_text(solution); !made.empty())
    text += "<p class=\"sub\">" + html_escape(made) + "; " + html_escape(options_text(solution)) +
            "</p>";
  return text + html_timeline(problem, solution, steady_state(problem, schedule), widest, moved);
}

/// A number of both, and what it grows by.
std::string row(const std::string& name, std::int64_t a, std::int64_t b) {
  const std::string more = (b > a ? "+" : "") + std::to_string(b - a);
  return "<tr><td>" + html_escape(name) + "</td><td class=\"n\">" + std::to_string(a) +
         "</td><td class=\"n\">" + std::to_string(b) + "</td><td class=\"n\">" +
         (a == b ? "" : more) + "</td></tr>";
}

std::string numbers(const Problem& problem, const Schedule& a, const Schedule& b) {
  const SteadyState x = steady_state(problem, a), y = steady_state(problem, b);
  std::string text =
      "<div class=\"wide\"><table><thead><tr><th></th><th class=\"n\">first</th><th "
      "class=\"n\">second</th><th class=\"n\">difference</th></tr></thead><tbody>";
  text += row("I", a.initiation_interval, b.initiation_interval) + row("L", a.length, b.length) +
          row("stages", x.stages, y.stages);
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    text += row("registers of " + problem.warps[w].name, x.registers[w].peak, y.registers[w].peak);
  for (std::size_t m = 0; m < problem.memories.size(); ++m)
    text += row(problem.memories[m].name, x.memories[m].peak, y.memories[m].peak);
  return text + "</tbody></table></div>";
}

}  // namespace

std::string html_diff(const Problem& problem, const Solution& a, const Solution& b,
                      const std::string& name_a, const std::string& name_b) {
  const Schedule &x = *a.schedule, &y = *b.schedule;
  std::vector<bool> moved;
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    moved.push_back(x.start[v] != y.start[v] || x.warp[v] != y.warp[v]);
  const auto count = std::count(moved.begin(), moved.end(), true);
  const Cycle widest = std::max(x.initiation_interval, y.initiation_interval);
  std::string text =
      html_head(problem, a, problem.name + ", two schedules") + "<h1>" + html_escape(problem.name) +
      ", two schedules</h1><p class=\"sub\">" +
      (count == 0 ? "They are the same."
                  : plural(count, "op") + " of " + std::to_string(problem.ops.size()) +
                        " start elsewhere or are on another slot: outlined.") +
      " Two periods each, to one scale.</p>";
  text += html_controls(problem, a, steady_state(problem, x));
  text += one(problem, a, name_a, widest, moved) + one(problem, b, name_b, widest, moved);
  text += "<h2>Numbers</h2>" + numbers(problem, x, y);
  if (count > 0) {
    text +=
        "<h2>Ops that differ</h2><div class=\"wide\"><table><thead><tr><th>op</th><th "
        "class=\"n\">first: start</th><th>slot</th><th class=\"n\">second: start</th><th>slot</th>"
        "</tr></thead><tbody>";
    for (std::size_t v = 0; v < problem.ops.size(); ++v) {
      if (!moved[v]) continue;
      const auto slot = [&](const Schedule& s) {
        return "<td><b class=\"chip w" + std::to_string(s.warp[v]) + "\">" +
               html_escape(problem.warps[at(s.warp[v])].name) + "</b></td>";
      };
      text += "<tr data-op=\"" + std::to_string(static_cast<Cycle>(v)) + "\"><td>" +
              html_escape(problem.ops[v].id) + "</td><td class=\"n\">" +
              std::to_string(x.start[v]) + "</td>" + slot(x) + "<td class=\"n\">" +
              std::to_string(y.start[v]) + "</td>" + slot(y) + "</tr>";
    }
    text += "</tbody></table></div>";
  }
  return text + html_foot(a.problem_sha256);
}

}  // namespace twill
