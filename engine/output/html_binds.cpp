// The panel beside the timeline: what holds I up, and what there is to spare.
#include <algorithm>

#include "engine/output/html.hpp"
#include "engine/output/style.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/index.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

/// Bounds and recurrences of larger loops take a while; `twill evaluate` has them.
constexpr std::size_t kMostBound = 2'000;

std::string bound_list(const Problem& problem, Cycle ii) {
  std::string text = "<section><h3>Bounds on I</h3><ul>";
  for (const Bound& bound : lower_bounds(problem))
    text += std::string("<li") + (bound.value == ii ? " class=\"now\"" : "") + "><b>" +
            std::to_string(bound.value) + "</b> " + html_escape(bound.name) + ": " +
            html_escape(bound.text) + (bound.value == ii ? " <b>binds</b>" : "") + "</li>";
  return text + "</ul></section>";
}

/// What these orders and slots need, whatever the starts.
std::string recurrence(const Problem& problem, const Schedule& schedule) {
  const auto critical = critical_recurrence(problem, schedule);
  if (!critical) return {};
  std::string text =
      "<section><h3>Critical recurrence of these orders</h3><ul><li" +
      std::string(critical->ii == schedule.initiation_interval ? " class=\"now\"" : "") + "><b>" +
      std::to_string(critical->ii) + "</b> cycles at least: " + std::to_string(critical->cycles) +
      " over " + plural(critical->iterations, "iteration") +
      (critical->ii == schedule.initiation_interval ? " <b>binds</b>" : "") + "</li>";
  for (const CriticalRecurrence::Step& step : critical->steps)
    text += "<li><span data-op=\"" + std::to_string(step.from) + "\">" +
            html_escape(problem.ops[at(step.from)].id) + "</span> &rarr; <span data-op=\"" +
            std::to_string(step.to) + "\">" + html_escape(problem.ops[at(step.to)].id) +
            "</span>: " + std::to_string(step.cycles) + ", " + html_escape(step.reason) + "</li>";
  return text + "</ul></section>";
}

std::string free_list(const Problem& problem, const SteadyState& state) {
  std::string text = "<section><h3>Free at the fullest moment</h3><ul>";
  const auto line = [&](const std::string& name, const Pressure& pressure, const char* what) {
    const Amount free = pressure.capacity - pressure.peak;
    text += std::string("<li") + (free <= 0 ? " class=\"now\"" : "") + "><b>" +
            std::to_string(free) + "</b> of " + std::to_string(pressure.capacity) + " " + what +
            " " + html_escape(name) + "</li>";
  };
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    if (state.registers[w].peak > 0)
      line(problem.warps[w].name, state.registers[w], "registers a thread of");
  for (std::size_t m = 0; m < problem.memories.size(); ++m)
    line(problem.memories[m].name, state.memories[m], "of");
  return text + "</ul></section>";
}

}  // namespace

std::string html_binds(const Problem& problem, const Solution& solution, const SteadyState& state) {
  const Schedule& schedule = *solution.schedule;
  std::string text = "<h2>What binds</h2><div class=\"binds\">";
  if (problem.ops.size() <= kMostBound) {
    text += bound_list(problem, state.ii);
    if (!verify(problem, schedule)) text += recurrence(problem, schedule);
  }
  text += free_list(problem, state) + "</div>";
  if (problem.ops.size() > kMostBound)
    text +=
        "<p class=\"sub\">Bounds and the critical recurrence of so many ops: twill evaluate.</p>";
  return text;
}

}  // namespace twill
