#include "engine/output/style.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "graph/restriction.hpp"

namespace twill {
namespace {

// The first six differ by 25 at least (CIE 1976, of Lab) for people who see all colours and for
// those who see two (Machado et al. 2009: protan, deutan, tritan), with dark text on them. Found by
// random search near the hues of Figure 9; output_test measures them again.
constexpr Colour kVariableLatency = {"#cfeddd", 194};
constexpr std::array<Colour, 9> kColours = {{{"#e65b9b", 169},
                                             {"#77ccee", 117},
                                             {"#ca8d6d", 173},
                                             {"#eae052", 185},
                                             {"#937ad5", 140},
                                             {"#8fdcd6", 116},
                                             {"#d9c3a5", 180},
                                             {"#c6dd8a", 150},
                                             {"#f29e94", 210}}};

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

std::string printable(std::string_view name) {
  std::string text;
  for (std::size_t k = 0; k < name.size(); ++k) {
    const auto byte = static_cast<unsigned char>(name[k]);
    if (byte < 0x20 || byte == 0x7F) {
      text += '?';
    } else if (byte == 0xC2 && k + 1 < name.size() &&
               static_cast<unsigned char>(name[k + 1]) < 0xA0) {  // U+0080 to U+009F
      text += '?';
      ++k;
    } else {
      text += name[k];
    }
  }
  return text;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (char c : text) width += continues_character(c) ? 0 : 1;
  return width;
}

std::string fit(std::string_view text, std::size_t width, bool ascii, bool right) {
  const std::size_t have = display_width(text);
  if (have <= width) {
    const std::string pad(width - have, ' ');
    return right ? pad + std::string(text) : std::string(text) + pad;
  }
  if (width == 0) return {};
  std::string cut;
  std::size_t columns = 0;
  for (char c : text) {
    if (!continues_character(c) && ++columns == width) break;
    cut += c;
  }
  return cut + (ascii ? "~" : "…");
}

std::string decimal(double value, int digits) {
  std::int64_t scale = 1;
  for (int k = 0; k < digits; ++k) scale *= 10;
  if (!std::isfinite(value) || std::abs(value) > 1e15) return "?";
  const auto rounded = std::llround(std::abs(value) * static_cast<double>(scale));
  std::string text = std::to_string(rounded / scale);
  if (digits > 0) {
    const std::string behind = std::to_string(rounded % scale);
    text += "." + std::string(static_cast<std::size_t>(digits) - behind.size(), '0') + behind;
  }
  return value < 0 && rounded != 0 ? "-" + text : text;
}

std::string percent(double share) {
  return decimal(100 * share, 1) + " %";
}

std::string plural(std::int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

const char* ring_title(const Problem& problem) {
  return std::any_of(problem.ops.begin(), problem.ops.end(),
                     [](const Op& op) { return op.in_flight; })
             ? "Ring depths of loads"
             : "Ring depths of streaming loads";
}

double bandwidth_share(const Problem& problem, Cycle ii, const BandwidthSum& sum) {
  return static_cast<double>(sum.cycles) / (static_cast<double>(ii) * problem.cycle_unit);
}

bool bandwidth_exceeded(const Problem& problem, Cycle ii, const BandwidthSum& sum) {
  return bandwidth_share(problem, ii, sum) > (problem.cycle_unit == 1.0 ? 1.0 : 1.02);
}

std::vector<Colour> slot_colours(const Problem& problem, const Solution& solution) {
  std::vector<char> used(problem.warps.size(), solution.schedule ? 0 : 1);
  if (solution.schedule) {
    for (std::size_t v = 0; v < problem.ops.size(); ++v) {
      if (problem.ops[v].cycles > 0 || problem.ops[v].fills_ring()) {
        used[static_cast<std::size_t>(solution.schedule->warp[v])] = 1;
      }
    }
  }
  std::vector<Colour> colours;
  std::size_t next = 0;
  for (std::size_t w = 0; w < problem.warps.size(); ++w) {
    if (problem.warps[w].variable_latency) {
      colours.push_back(kVariableLatency);
    } else {
      colours.push_back(used[w] ? kColours[next++ % kColours.size()] : kUnplaced);
    }
  }
  return colours;
}

std::string units_of(const Problem& problem, int v) {
  std::string text;
  std::vector<char> seen(problem.units.size(), 0);
  for (const Reservation& r : problem.ops[static_cast<std::size_t>(v)].reservations) {
    const auto unit = static_cast<std::size_t>(r.unit);
    if (seen[unit]) continue;
    seen[unit] = 1;
    text += (text.empty() ? "" : "+") + printable(problem.units[unit].name);
  }
  return text.empty() ? "-" : text;
}

GoalLines goal_lines(const Problem& problem, const Solution& solution) {
  const std::vector<Goal>& goals = solution.goals;
  const std::size_t all = 2 * problem.ops.size();
  GoalLines lines{goals, 0, 0};
  if (goals.size() < all) return lines;
  const std::size_t begin = goals.size() - all;
  for (std::size_t g = begin; g < goals.size(); ++g) {
    const std::string& op = problem.ops[(g - begin) / 2].id;
    if (goals[g].name != ((g - begin) % 2 == 0 ? "start:" : "slot:") + op) return lines;
    lines.proved += goals[g].lower_bound == goals[g].value ? 1 : 0;
  }
  lines.single.resize(begin);
  lines.canonical = all;
  return lines;
}

std::string made_by_text(const Solution& solution) {
  if (!solution.made_by) return {};
  const MadeBy& made = *solution.made_by;
  std::string text =
      "Twill " + made.twill + ": machine " + made.machine + ", layout " + made.layout;
  for (const std::string& setting : made.settings) text += ", " + setting;
  for (std::size_t k = 0; k < made.options.size(); ++k)
    text += (k == 0 ? "; " : ", ") + made.options[k].first + " " + made.options[k].second;
  return text;
}

std::string options_text(const Solution& solution) {
  std::string text = solution.engine.empty() ? "" : "engine " + solution.engine;
  for (const auto& [name, value] : solution.options) {
    if (name == "encoding" || name == kRestrictionOption || name.starts_with("setmaxnreg ") ||
        name == "registers at launch")
      continue;
    text += (text.empty() ? "" : ", ") + name + " " + value;
  }
  return text;
}

SplitLines split_lines(const Solution& solution) {
  constexpr std::string_view kKey = "setmaxnreg ";
  SplitLines split;
  for (const auto& [name, value] : solution.options) {
    if (name == "registers at launch") split.launch = value;
    if (name.starts_with(kKey)) split.counts.emplace_back(name.substr(kKey.size()), value);
  }
  return split;
}

namespace {

// "5" of --ii 5, else "".
std::string only_interval(const Solution& solution) {
  for (const auto& [name, value] : solution.options)
    if (name == "ii") return value;
  return "";
}

}  // namespace

std::string stop_text(const Solution& solution) {
  if (!cut_short(solution.stop)) return "";
  if (solution.stop == Stop::interrupt) return "stopped by request";
  return std::string("stopped by the ") + to_string(solution.stop);
}

std::string no_schedule_text(const Solution& solution) {
  const std::string only = only_interval(solution);
  std::string text = "no schedule found";
  if (solution.status == Status::infeasible) {
    const bool all = restriction_of(solution).empty();
    text = !only.empty() ? "no schedule has I = " + only + " (proved)"
           : all         ? "no schedule exists at any I (proved)"
                         : "none of those exists at any I (proved)";
    // Where there is none at any I a bound would say that there is one.
    if (only.empty()) return text;
  } else {
    if (!only.empty()) text += " at I = " + only;
    if (cut_short(solution.stop)) text += ": " + stop_text(solution);
  }
  if (solution.ii_lower_bound > 1)
    text += "; I is at least " + std::to_string(solution.ii_lower_bound);
  return text;
}

const char* conflict_title(const Solution& solution) {
  return solution.status == Status::infeasible && only_interval(solution).empty() ? "what clashes"
                                                                                  : "why";
}

}  // namespace twill
