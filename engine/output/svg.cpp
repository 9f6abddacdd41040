#include "engine/output/svg.hpp"

#include <algorithm>

#include "engine/output/html.hpp"
#include "engine/output/pipeline.hpp"
#include "engine/output/steady_state.hpp"
#include "engine/output/style.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

constexpr int kWidth = 960, kNames = 96,
              kShareWidth = 62;  // pixels: of all, of what is left and right
constexpr int kRow = 26, kBox = 22, kTop = 58;
constexpr double kLetter = 6.4;

const char* const kSvgStyle =
    "text{font:11.5px system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;fill:#1d2329}"
    ".h{font-size:15px;font-weight:650}.s{fill:#626c76}.b{font-weight:600}.band{fill:#f1f3f5}"
    ".box{stroke:#0006;stroke-width:1}.tick{stroke:#d3d8dd}"
    ".arrow{stroke:#1d2329;stroke-width:1.3;opacity:.6}.tip{fill:#1d2329}"
    ".paper{fill:#fff}"
    "@media(prefers-color-scheme:dark){text,.tip{fill:#e6e9ec}.s{fill:#98a2ac}.band{fill:#20252b}"
    ".tick{stroke:#31373e}.arrow{stroke:#e6e9ec}.paper{fill:#14171a}}.in{fill:#14181c}";

struct SvgDrawing {
  const Problem& problem;
  const Solution& solution;
  const SteadyState& state;
  std::vector<Colour> colours;
  int y = kTop;
  std::string under{}, over{};
  std::vector<int> middle{};

  double x_of(Cycle cycle) const {
    return kNames + static_cast<double>(kWidth - kNames - kShareWidth) *
                        static_cast<double>(cycle) / static_cast<double>(state.ii);
  }
  static std::string number(double value) { return decimal(value, 2); }

  void band(const std::string& name, const std::string& share, int height) {
    under += "<rect class=\"band\" x=\"" + std::to_string(kNames) + "\" y=\"" + std::to_string(y) +
             "\" width=\"" + std::to_string(kWidth - kNames - kShareWidth) + "\" height=\"" +
             std::to_string(height) + "\"/><text class=\"b\" x=\"8\" y=\"" +
             std::to_string(y + 17) + "\">" + html_escape(fit(printable(name), 12, false)) +
             "</text>";
    if (!share.empty())
      under += "<text class=\"s\" x=\"" + std::to_string(kWidth - kShareWidth + 8) + "\" y=\"" +
               std::to_string(y + 17) + "\">" + share + "</text>";
  }

  void box(const BusyPiece& piece) {
    const std::string& id = problem.ops[at(piece.op)].id;
    const double left = x_of(piece.begin), width = x_of(piece.end) - left;
    const int top = y + piece.lane * kRow + (kRow - kBox) / 2;
    over += "<rect class=\"box\" x=\"" + number(left) + "\" y=\"" + std::to_string(top) +
            "\" width=\"" + number(width) + "\" height=\"" + std::to_string(kBox) +
            "\" rx=\"3\" fill=\"" + colours[at(solution.schedule->warp[at(piece.op)])].hex + "\"" +
            (piece.first ? "" : " fill-opacity=\".6\"") + "><title>" + html_escape(id) +
            "</title></rect>";
    for (const std::string& label :
         {printable(id) + "[" + iteration_text(Section::steady, piece.iteration) + "]",
          printable(id), std::to_string(piece.op + 1)}) {
      if (kLetter * static_cast<double>(display_width(label)) + 8 > width) continue;
      over += "<text class=\"in\" x=\"" + number(left + 5) + "\" y=\"" + std::to_string(top + 15) +
              "\">" + html_escape(label) + "</text>";
      break;
    }
  }

  void track(const std::string& name, const std::string& share, const Lanes& lanes, int slot) {
    const int height = lanes.count * kRow;
    band(name, share, height);
    for (const BusyPiece& piece : lanes.pieces) {
      box(piece);
      if (slot >= 0 && piece.first) middle[at(piece.op)] = y + piece.lane * kRow + kRow / 2;
    }
    y += height + 5;
  }

  void level(const ChannelLoad& load) {
    band(problem.channels[at(load.channel)].name, percent(load.busy), kRow);
    over += "<rect x=\"" + std::to_string(kNames) + "\" y=\"" + std::to_string(y + 2) +
            "\" width=\"" + std::to_string(kWidth - kNames - kShareWidth) +
            "\" height=\"22\" fill=\"#d0492e\" fill-opacity=\".7\"/><text class=\"in\" x=\"" +
            std::to_string(kNames + 6) + "\" y=\"" + std::to_string(y + 17) +
            "\">binds: " + html_escape(fit(load.sum, 100, false)) + "</text>";
    y += kRow + 5;
  }

  /// Of ops with cycles whose both ends are in the period.
  void arrows() {
    for (const Edge& e : problem.edges) {
      const auto u = at(e.from), v = at(e.to);
      const Schedule& s = *solution.schedule;
      if (s.warp[u] == s.warp[v] || middle[u] == 0 || middle[v] == 0) continue;
      const Cycle waits = s.start[v] + e.distance * state.ii - s.start[u] - problem.ops[u].cycles;
      const Cycle end = state.row[v], begin = end - waits;
      if (begin < 0 || begin > state.ii) continue;
      const int up = middle[u] < middle[v] ? 1 : -1;
      over += "<line class=\"arrow\" x1=\"" + number(x_of(begin)) + "\" y1=\"" +
              std::to_string(middle[u] + up * kBox / 2) + "\" x2=\"" + number(x_of(end)) +
              "\" y2=\"" + std::to_string(middle[v] - up * kBox / 2) +
              "\" marker-end=\"url(#tip)\"/>";
    }
  }

  void ticks() {
    Cycle step = 1;
    for (int k = 0; step * 12 < state.ii; ++k) step = k % 3 == 1 ? step / 2 * 5 : step * 2;
    for (Cycle cycle = 0; cycle < state.ii; cycle += step)
      under += "<line class=\"tick\" x1=\"" + number(x_of(cycle)) + "\" x2=\"" +
               number(x_of(cycle)) + "\" y1=\"" + std::to_string(kTop - 4) + "\" y2=\"" +
               std::to_string(y - 5) + "\"/><text class=\"s\" x=\"" + number(x_of(cycle)) +
               "\" y=\"" + std::to_string(kTop - 7) + "\">" + std::to_string(cycle) + "</text>";
  }
};

std::string svg_bound(const char* name, Cycle value, Cycle bound) {
  std::string text = std::string(name) + " = " + std::to_string(value);
  if (bound >= value) return text + " (proved smallest)";
  return text + (bound > 0 ? " (lower bound " + std::to_string(bound) + ")" : "");
}

std::string svg_text(int x, int y, const char* kind, const std::string& text) {
  return "<text class=\"" + std::string(kind) + "\" x=\"" + std::to_string(x) + "\" y=\"" +
         std::to_string(y) + "\">" + html_escape(text) + "</text>";
}

std::string framed(int height, const std::string& title, const std::string& content) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(kWidth) +
         "\" height=\"" + std::to_string(height) + "\" viewBox=\"0 0 " + std::to_string(kWidth) +
         " " + std::to_string(height) + "\" role=\"img\" aria-label=\"" + html_escape(title) +
         "\"><style>" + kSvgStyle +
         "</style><defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
         "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"tip\" d=\"M0 0 L8 4 "
         "L0 8 Z\"/></marker></defs><rect class=\"paper\" width=\"100%\" height=\"100%\" "
         "rx=\"6\"/>" +
         content + "</svg>\n";
}

}  // namespace

std::string svg_picture(const Problem& problem, const Solution& solution) {
  const std::string name = printable(problem.name);
  const std::string made = made_by_text(solution);
  if (!solution.schedule)
    return framed(70, name,
                  svg_text(8, 24, "h", name) + svg_text(8, 48, "s", no_schedule_text(solution)));
  const Schedule& schedule = *solution.schedule;
  const SteadyState state = steady_state(problem, schedule);
  SvgDrawing drawing{problem, solution, state, slot_colours(problem, solution)};
  drawing.middle.assign(problem.ops.size(), 0);
  for (std::size_t f = 0; f < problem.units.size(); ++f)
    if (!state.units[f].pieces.empty())
      drawing.track(problem.units[f].name, percent(state.busy[f]), state.units[f], -1);
  for (const ChannelLoad& load : state.channels)
    if (load.binds) drawing.level(load);
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    if (!state.slots[w].pieces.empty())
      drawing.track(problem.warps[w].name, "", state.slots[w], static_cast<int>(w));
  drawing.ticks();
  drawing.arrows();
  const std::string numbers =
      svg_bound("I", schedule.initiation_interval, solution.ii_lower_bound) + ", " +
      svg_bound("L", schedule.length, solution.length_lower_bound) + ", " +
      plural(state.stages, "stage");
  return framed(drawing.y + 24, name + ": " + numbers,
                svg_text(8, 24, "h", name + ": " + numbers) + drawing.under + drawing.over +
                    svg_text(8, drawing.y + 13, "s",
                             "one period of I cycles; pale: goes on from the period before" +
                                 (made.empty() ? "" : ". " + made)));
}

}  // namespace twill
