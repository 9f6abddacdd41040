#include "engine/output/html.hpp"

#include <algorithm>
#include <array>

#include "engine/output/pipeline.hpp"
#include "engine/output/style.hpp"
#include "graph/index.hpp"
#include "graph/restriction.hpp"

namespace twill {
namespace {

// Those of the slots (style.cpp): told apart by the colour-blind.
constexpr std::array<const char*, 6> kIterationColours = {"#77ccee", "#ca8d6d", "#cfeddd",
                                                          "#937ad5", "#eae052", "#e65b9b"};
constexpr std::array<const char*, 4> kTileColours = {"#77ccee", "#ca8d6d", "#cfeddd", "#937ad5"};

/// `--c` is the colour of whatever carries the class: slots always, bars by what the reader chose.
std::string colour_rules(const Problem& problem, const Solution& solution) {
  std::string text;
  const std::vector<Colour> slots = slot_colours(problem, solution);
  for (std::size_t w = 0; w < slots.size(); ++w) {
    text += ".w" + std::to_string(w) + "{--c:" + slots[w].hex + "}";
  }
  for (std::size_t k = 0; k < kIterationColours.size(); ++k) {
    const std::string i = ".i" + std::to_string(k);
    text += ".chip" + i + ",body[data-by=iteration] .op" + i + "{--c:" + kIterationColours[k] + "}";
  }
  for (std::size_t k = 0; k < kTileColours.size(); ++k) {
    const std::string t = ".t" + std::to_string(k);
    text += ".chip" + t + ",body[data-by=tile] .op" + t + "{--c:" + kTileColours[k] + "}";
  }
  text += std::string(".chip.t9,body[data-by=tile] .op.t9{--c:") + kUnplaced.hex + "}\n";
  return text;
}

std::string key(const std::string& value, const std::string& name, const std::string& note) {
  return "<div><span>" + name + "</span><b>" + value + "</b><span>" + note + "</span></div>";
}

std::string bound_note(Cycle value, Cycle bound, bool restricted) {
  if (bound <= 0) return "no lower bound";
  if (bound < value) return "lower bound " + std::to_string(bound);
  return restricted ? "smallest of those searched" : "smallest possible";
}

std::string key_numbers(const Problem& problem, const Solution& solution, const SteadyState& state,
                        const std::vector<BandwidthSum>& bandwidth) {
  const Schedule& schedule = *solution.schedule;
  const bool restricted = !restriction_of(solution).empty();
  std::string text = "<div class=\"keys\">";
  text += key(std::to_string(state.ii), "initiation interval I",
              bound_note(state.ii, solution.ii_lower_bound, restricted));
  text += key(std::to_string(schedule.length), "length L",
              bound_note(schedule.length, solution.length_lower_bound, restricted));
  if (const auto& time = solution.whole_time)
    text += key(std::to_string(time->cycles), "cycles of " + plural(time->iterations, "iteration"),
                bound_note(time->cycles, time->lower_bound, restricted));
  text += key(std::to_string(state.stages), "stages",
              solution.stages.empty() ? "" : "searched: " + html_escape(solution.stages));
  std::size_t busiest = 0;
  for (std::size_t f = 0; f < state.busy.size(); ++f) {
    if (state.busy[f] > state.busy[busiest]) busiest = f;
  }
  if (!state.busy.empty()) {
    text +=
        key(percent(state.busy[busiest]), "busiest unit", html_escape(problem.units[busiest].name));
  }
  for (const ChannelLoad& load : state.channels)
    if (load.binds)
      text += key(percent(load.busy), "channel that binds",
                  html_escape(problem.channels[at(load.channel)].name));
  if (problem.cycle_unit != 1.0) {
    text += key(
        decimal(problem.cycle_unit * static_cast<double>(state.ii), 0), "clocks an iteration",
        "one cycle is " + decimal(problem.cycle_unit, problem.cycle_unit < 1 ? 5 : 2) + " clocks");
  }
  for (const BandwidthSum& sum : bandwidth) {
    text +=
        key(percent(bandwidth_share(problem, state.ii, sum)), html_escape(sum.unit) + " bandwidth",
            plural(sum.cycles, "clock") + " an iteration");
  }
  const GoalLines goals = goal_lines(problem, solution);
  for (const Goal& goal : goals.single) {
    text += key(std::to_string(goal.value), html_escape(goal.name),
                "lower bound " + std::to_string(goal.lower_bound));
  }
  if (goals.canonical > 0) {
    text += key(std::to_string(goals.proved), "canonical",
                "of " + std::to_string(goals.canonical) + " starts and slots proved smallest");
  }
  text += "</div>";
  for (const BandwidthSum& sum : bandwidth) {
    if (!bandwidth_exceeded(problem, state.ii, sum)) continue;
    text += "<p class=\"warn\">" + html_escape(sum.unit) + " needs " + std::to_string(sum.cycles) +
            " clocks of bandwidth an iteration, more than I: the loop will run slower than I.</p>";
  }
  return text;
}

std::string op_table(const Problem& problem, const Solution& solution, const SteadyState& state) {
  std::string text =
      "<div class=\"wide\"><table><thead><tr><th "
      "class=\"n\">#</th><th>op</th><th>kind</th><th>slot</th>"
      "<th class=\"n\">start</th><th class=\"n\">row</th><th class=\"n\">stage</th>"
      "<th class=\"n\">cycles</th><th>unit</th><th class=\"n\">registers</th><th "
      "class=\"n\">live</th>"
      "<th class=\"n\">copies</th></tr></thead><tbody>";
  const auto cell = [](std::int64_t value) {
    return "<td class=\"n\">" + std::to_string(value) + "</td>";
  };
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const Op& op = problem.ops[v];
    const int slot = solution.schedule->warp[v];
    text += "<tr data-op=\"" + std::to_string(static_cast<std::int64_t>(v)) + "\">" +
            cell(static_cast<std::int64_t>(v) + 1) + "<td>" + html_escape(op.id) + "</td><td>" +
            html_escape(op.kind) + "</td><td><b class=\"chip w" + std::to_string(slot) + "\">" +
            html_escape(problem.warps[at(slot)].name) + "</b></td>" +
            cell(solution.schedule->start[v]) + cell(state.row[v]) + cell(state.stage[v]) +
            cell(op.cycles) + "<td>" + html_escape(units_of(problem, static_cast<int>(v))) +
            "</td>" + cell(op.registers) + cell(state.lifetime[v]) + cell(state.copies[v]) +
            "</tr>";
  }
  return text + "</tbody></table></div>";
}

std::string channel_table(const Problem& problem, const SteadyState& state) {
  if (state.channels.empty()) return {};
  std::string text =
      "<h2>Channels, share of I that each is busy</h2><div class=\"wide\"><table><thead><tr>"
      "<th>channel</th><th class=\"n\">busy</th><th class=\"n\">I at least</th><th></th>"
      "<th>what an iteration moves</th></tr></thead><tbody>";
  for (const ChannelLoad& load : state.channels)
    text += "<tr><td>" + html_escape(problem.channels[at(load.channel)].name) +
            "</td><td class=\"n\">" + percent(load.busy) + "</td><td class=\"n\">" +
            std::to_string(load.least) + "</td><td class=\"binds\">" + (load.binds ? "binds" : "") +
            "</td><td>" + html_escape(load.sum) + "</td></tr>";
  return text + "</tbody></table></div>";
}

/// A column a slot; ops of one cycle share a row as long as they go from left to right.
std::string code_table(const Problem& problem, const Solution& solution, Section section,
                       const std::vector<Instruction>& list) {
  std::vector<char> used(problem.warps.size(), 0);
  for (int w : solution.schedule->warp) used[at(w)] = 1;
  std::string text = "<div class=\"wide code\"><table><thead><tr><th class=\"n\">cycle</th>";
  for (std::size_t w = 0; w < used.size(); ++w) {
    if (used[w]) text += "<th>" + html_escape(problem.warps[w].name) + "</th>";
  }
  text += "</tr></thead><tbody>";
  Cycle before = -1;
  for (std::size_t k = 0; k < list.size();) {
    const Cycle now = list[k].cycle;
    text += now == before ? "<tr><td></td>"
                          : "<tr class=\"cycle\"><td class=\"n\">" + std::to_string(now) + "</td>";
    before = now;
    for (std::size_t w = 0; w < used.size(); ++w) {
      if (!used[w]) continue;
      const bool here = k < list.size() && list[k].cycle == now &&
                        solution.schedule->warp[at(list[k].op)] == static_cast<int>(w);
      if (!here) {
        text += "<td></td>";
        continue;
      }
      text += "<td class=\"some w" + std::to_string(w) + "\"><span data-op=\"" +
              std::to_string(list[k].op) + "\">" + html_escape(problem.ops[at(list[k].op)].id) +
              "[" + iteration_text(section, list[k].iteration) + "]</span></td>";
      ++k;
    }
    text += "</tr>";
  }
  return text + "</tbody></table></div>";
}

std::string split_table(const Solution& solution) {
  const SplitLines split = split_lines(solution);
  if (split.counts.empty()) return {};
  std::string text =
      "<h2>Register split, chosen</h2><p class=\"sub\">setmaxnreg a warpgroup; " +
      html_escape(split.launch) +
      " registers a thread at launch.</p><div class=\"wide\"><table><thead><tr><th>slots</th>"
      "<th>registers a thread</th></tr></thead><tbody>";
  for (const auto& [slots, count] : split.counts)
    text += "<tr><td>" + html_escape(slots) + "</td><td>" + html_escape(count) + "</td></tr>";
  return text + "</tbody></table></div>";
}

std::string code(const Problem& problem, const Solution& solution, const SteadyState& state) {
  const Pipeline loop = pipeline(state, 2000);
  const std::string n = std::to_string(state.stages);
  std::string text = "<h2>Pipelined loop</h2><p class=\"sub\">" + plural(state.stages, "stage") +
                     ", n iterations (n &ge; " + n +
                     "); op[k] is the op of iteration k.</p><h3>Prologue</h3>";
  text += loop.abridged ? "<p>The steady state with i = " + std::to_string(1 - state.stages) +
                              " to -1, without iterations below 0.</p>"
                        : code_table(problem, solution, Section::prologue, loop.prologue);
  text +=
      "<h3>Steady state, for i = 0 to n-" + n + ", every " + plural(state.ii, "cycle") + "</h3>";
  text += code_table(problem, solution, Section::steady, loop.steady);
  text += "<h3>Epilogue</h3>";
  text += loop.abridged ? "<p>The steady state with i = n-" + std::to_string(state.stages - 1) +
                              " to n-1, without iterations from n on.</p>"
                        : code_table(problem, solution, Section::epilogue, loop.epilogue);
  return text;
}

}  // namespace

std::string html_escape(std::string_view text) {
  std::string result;
  for (char c : printable(text)) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string html_page(const Problem& problem, const Solution& solution,
                      const std::vector<BandwidthSum>& bandwidth) {
  const std::string name = html_escape(problem.name);
  std::string text = html_head(problem, solution, problem.name) + "<h1>" + name +
                     "<span class=\"badge " + to_string(solution.status) + "\">" +
                     to_string(solution.status) + "</span></h1>";
  text += "<p class=\"sub\">Modulo schedule with warp specialisation: " +
          plural(static_cast<std::int64_t>(problem.ops.size()), "op") + ", " +
          plural(static_cast<std::int64_t>(problem.edges.size()), "dependence") + ", " +
          plural(static_cast<std::int64_t>(problem.warps.size()), "warp slot") + "</p>";
  if (const std::string made = made_by_text(solution); !made.empty())
    text += "<p class=\"sub\">" + html_escape(made) + "; " + html_escape(options_text(solution)) +
            "</p>";
  if (const std::string restriction = restriction_of(solution); !restriction.empty())
    text += "<p class=\"sub\">Only schedules " + html_escape(restriction) + " were searched.</p>";
  if (solution.schedule) {
    const SteadyState state = steady_state(problem, *solution.schedule);
    text += key_numbers(problem, solution, state, bandwidth);
    text += "<h2>Steady state, two periods</h2>" + html_controls(problem, solution, state) +
            html_timeline(problem, solution, state);
    text += html_binds(problem, solution, state);
    text += channel_table(problem, state);
    text += html_pressure(problem, solution, state);
    text += split_table(solution);
    text += "<h2>Ops</h2>" + op_table(problem, solution, state);
    text += code(problem, solution, state);
  } else {
    text += "<p>" + html_escape(no_schedule_text(solution)) + ".</p>";
    if (!solution.conflict.empty()) {
      text += std::string("<h2>") + conflict_title(solution) + "</h2><ul class=\"clash\">";
      for (const std::string& line : solution.conflict)
        text += "<li>" + html_escape(line) + "</li>";
      text += "</ul>";
    }
  }
  return text + html_foot(solution.problem_sha256);
}

std::string html_head(const Problem& problem, const Solution& solution, const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>" +
         html_escape(title) + " - Twill</title>\n<style>" + kHtmlStyle +
         colour_rules(problem, solution) + "</style></head>\n<body data-by=\"" +
         (several_slots(problem, solution) ? "slot" : "iteration") + "\">";
}

std::string html_foot(const std::string& made_from) {
  std::string text = "<footer>Made by Twill";
  if (!made_from.empty()) text += " from problem " + html_escape(made_from);
  return text + "</footer><div id=\"tip\" role=\"tooltip\"></div><script>" + kHtmlScript +
         "</script></body></html>\n";
}

}  // namespace twill
