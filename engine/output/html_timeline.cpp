// The timeline of the page: two periods, so that work crossing the period's end is seen whole.
//
// Positions are in percent of the drawing's width, which zooming changes; each op is a nested
// <svg>, which cuts its label at its own border.

#include <algorithm>
#include <cmath>

#include "engine/output/html.hpp"
#include "engine/output/pipeline.hpp"
#include "engine/output/style.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

constexpr int kPeriods = 2;
constexpr int kLane = 26;  // height of a lane, pixels
constexpr int kBar = 22;   // height of a bar in it
constexpr int kGroup = 6;  // between two units or slots
constexpr int kAxis = 26;
constexpr int kHeading = 24;
constexpr int kFarthestArrow = 4;     // times what is drawn, that an arrow comes from
constexpr std::int64_t kArrows = 24;  // a period; more are shown of the op at hand alone

std::string share(Cycle cycle, Cycle span) {
  return decimal(100.0 * static_cast<double>(cycle) / static_cast<double>(span), 4) + "%";
}

struct Drawing {
  const Problem& problem;
  const Schedule& schedule;
  const SteadyState& state;
  Cycle span;  ///< cycles drawn
  int y = kAxis;
  std::string names{};  ///< the fixed column at the left
  std::string marks{};  ///< bands and rules below the bars
  std::string bars{};
  std::vector<bool> moved{};
  std::vector<int> middle{};  ///< of each op's first box, or its mark, on its slot: pixels

  const char* mark_of(int op) const { return !moved.empty() && moved[at(op)] ? " moved" : ""; }

  void heading(const char* text) {
    names += "<div class=\"head\" style=\"height:" + std::to_string(kHeading) + "px\">" + text +
             "</div>";
    y += kHeading;
  }

  void bar(const BusyPiece& piece, int period) {
    const Op& op = problem.ops[at(piece.op)];
    const Cycle shift = period * state.ii;

    const Cycle iteration = piece.iteration + period;
    const std::string label =
        html_escape(op.id) + "[" + iteration_text(Section::steady, iteration) + "]";
    const int slot = schedule.warp[at(piece.op)];
    const int tile = sub_tile(op.id);
    const Cycle hue = mod(iteration, 6);
    bars += "<svg class=\"op w" + std::to_string(slot) + " i" + std::to_string(hue) + " t" +
            std::to_string(tile < 0 ? 9 : tile % 4) + (piece.first ? "" : " cont") +
            mark_of(piece.op) + "\" data-op=\"" + std::to_string(piece.op) + "\" data-short=\"" +
            std::to_string(piece.op + 1) + "\" x=\"" + share(shift + piece.begin, span) +
            "\" y=\"" + std::to_string(y + piece.lane * kLane + 2) + "\" width=\"" +
            share(piece.end - piece.begin, span) + "\" height=\"" + std::to_string(kBar) +
            "\"><title>" + label + "\nslot " + html_escape(problem.warps[at(slot)].name) +
            ", unit " + html_escape(units_of(problem, piece.op)) + "\nstart " +
            std::to_string(schedule.start[at(piece.op)]) + ", " + plural(op.cycles, "cycle") +
            ", stage " + std::to_string(state.stage[at(piece.op)]) + ", row " +
            std::to_string(state.row[at(piece.op)]) +
            (piece.amount > 1 ? "\namount " + std::to_string(piece.amount) : "") +
            (piece.copies > 1 ? "\n" + std::to_string(piece.copies) + " iterations at once" : "") +
            "</title><rect width=\"100%\" height=\"" + std::to_string(kBar) +
            "\" rx=\"3\"/><text x=\"5\" y=\"15\">" + label + "</text></svg>";
  }

  void mark(int v, int period) {  // an op of no cycles: a small diamond at its issue
    const Op& op = problem.ops[at(v)];
    const Cycle iteration = state.iteration(v) + period;
    bars += "<svg class=\"nil w" + std::to_string(schedule.warp[at(v)]) + mark_of(v) +
            "\" data-op=\"" + std::to_string(v) + "\" x=\"" +
            share(period * state.ii + state.row[at(v)], span) + "\" y=\"" + std::to_string(y + 4) +
            "\" overflow=\"visible\" width=\"12\" height=\"18\"><title>" + html_escape(op.id) +
            "[" + iteration_text(Section::steady, iteration) +
            (op.in_flight ? "]\nin flight, start " : "]\nno cycles, start ") +
            std::to_string(schedule.start[at(v)]) +
            "</title><path d=\"M0 3 L5 9 L0 15 L-5 9 Z\"/></svg>";
  }

  void track(const std::string& name, const std::string& note, const Lanes& lanes, int slot) {
    const int height = lanes.count * kLane;
    names += "<div class=\"name\" style=\"height:" + std::to_string(height) + "px\"><b" +
             (slot >= 0 ? " class=\"chip w" + std::to_string(slot) + "\"" : "") + ">" +
             html_escape(name) + "</b><i>" + note + "</i></div>";
    marks += "<rect class=\"band\" x=\"0\" y=\"" + std::to_string(y) +
             "\" width=\"100%\" height=\"" + std::to_string(height) + "\"/>";
    for (int period = 0; period < kPeriods; ++period) {
      for (const BusyPiece& piece : lanes.pieces) bar(piece, period);
      if (slot < 0) continue;
      for (const BusyPiece& piece : lanes.pieces)
        if (piece.first) middle[at(piece.op)] = y + piece.lane * kLane + kLane / 2;
      for (std::size_t v = 0; v < problem.ops.size(); ++v) {
        if (problem.ops[v].cycles == 0 && schedule.warp[v] == slot) {
          middle[v] = y + kLane / 2;
          mark(static_cast<int>(v), period);
        }
      }
    }
    y += height + kGroup;
  }

  /// A channel is busy at no cycle in particular: a level over the whole period, as high as its
  /// share of I.
  void level(const ChannelLoad& load) {
    const std::string name = html_escape(problem.channels[at(load.channel)].name);
    const int height = std::clamp(static_cast<int>(std::lround(kLane * load.busy)), 1, kLane);
    names += "<div class=\"name\" style=\"height:" + std::to_string(kLane) + "px\"><b>" + name +
             "</b><i>" + percent(load.busy) + "</i></div>";
    marks += "<rect class=\"band\" x=\"0\" y=\"" + std::to_string(y) +
             "\" width=\"100%\" height=\"" + std::to_string(kLane) + "\"/>";
    bars += std::string("<g class=\"level") + (load.binds ? " binds" : "") + "\"><title>" + name +
            ", " + percent(load.busy) + "\nI &gt;= " + std::to_string(load.least) + ": " +
            html_escape(load.sum) + "</title><rect x=\"0\" y=\"" +
            std::to_string(y + kLane - height) + "\" width=\"100%\" height=\"" +
            std::to_string(height) + "\"/>" +
            (load.binds ? "<text x=\"7\" y=\"" + std::to_string(y + 18) + "\">binds</text>" : "") +
            "</g>";
    y += kLane + kGroup;
  }

  /// An edge between slots: from the end of the producer to the start of its consumer.
  void arrows() {
    const Cycle ii = state.ii;
    for (const Edge& e : problem.edges) {
      const auto u = at(e.from), v = at(e.to);
      if (schedule.warp[u] == schedule.warp[v]) continue;
      const Cycle waits =
          schedule.start[v] + e.distance * ii - schedule.start[u] - problem.ops[u].cycles;
      if (waits > kPeriods * ii * kFarthestArrow) continue;  // hardly an arrow
      for (Cycle period = 0;; ++period) {
        const Cycle end = period * ii + state.row[v], begin = end - waits;
        if (begin >= span || (waits < 0 && end >= span)) break;
        const int up = middle[u] < middle[v] ? 1 : -1;
        bars += "<line class=\"arrow" + std::string(spill_of(problem, e) > 0 ? "" : " free") +
                "\" data-from=\"" + std::to_string(e.from) + "\" data-to=\"" +
                std::to_string(e.to) + "\" x1=\"" + share(begin, span) + "\" x2=\"" +
                share(end, span) + "\" y1=\"" + std::to_string(middle[u] + up * kBar / 2) +
                "\" y2=\"" + std::to_string(middle[v] - up * kBar / 2) + "\"/>";
      }
    }
  }

  void axis() {
    Cycle step = 1;
    for (int k = 0; step * 14 < span; ++k) step = k % 3 == 1 ? step / 2 * 5 : step * 2;
    for (Cycle cycle = 0; cycle < span; cycle += step) {
      marks += "<line class=\"tick\" x1=\"" + share(cycle, span) + "\" x2=\"" + share(cycle, span) +
               "\" y1=\"18\" y2=\"" + std::to_string(y) + "\"/><text class=\"tick\" x=\"" +
               share(cycle, span) + "\" y=\"13\" dx=\"3\">" + std::to_string(cycle) + "</text>";
    }
    for (int period = 0; period < kPeriods; ++period) {
      marks += "<line class=\"period\" x1=\"" + share(period * state.ii, span) + "\" x2=\"" +
               share(period * state.ii, span) + "\" y1=\"18\" y2=\"" + std::to_string(y) + "\"/>";
    }
  }
};

std::int64_t crossing_edges(const Problem& problem, const Schedule& schedule) {
  return std::count_if(problem.edges.begin(), problem.edges.end(), [&](const Edge& e) {
    return schedule.warp[at(e.from)] != schedule.warp[at(e.to)];
  });
}

/// What the shapes mean.
std::string shapes(const Problem& problem, const SteadyState& state, std::int64_t arrows) {
  std::string text = "<p class=\"shapes\">";
  const auto shape = [&](const std::string& drawing, const char* meaning) {
    text += "<span><svg width=\"26\" height=\"14\">" + drawing + "</svg>" + meaning + "</span>";
  };
  bool goes_on = false, no_cycles = false, flight = false;
  for (const Lanes& lanes : state.slots)
    for (const BusyPiece& piece : lanes.pieces) goes_on = goes_on || !piece.first;
  for (const Op& op : problem.ops) {
    no_cycles = no_cycles || op.cycles == 0;
    flight = flight || op.in_flight;
  }
  shape("<line class=\"period\" x1=\"13\" x2=\"13\" y1=\"0\" y2=\"14\"/>",
        "a period of I cycles begins");
  if (goes_on)
    shape("<g class=\"op cont\"><rect width=\"24\" height=\"12\" x=\"1\" y=\"1\" rx=\"3\"/></g>",
          "pale: goes on from the period before");
  if (no_cycles)
    shape("<g class=\"nil\"><path d=\"M13 1 L18 7 L13 13 L8 7 Z\"/></g>",
          flight ? "no cycles: a load is issued, a view" : "no cycles: a load, a view");
  if (arrows > 0)
    shape("<line class=\"arrow\" x1=\"2\" x2=\"22\" y1=\"2\" y2=\"12\"/>",
          arrows > kArrows ? "a result for another slot, of the op at hand (dashed: at no cost)"
                           : "a result for another slot (dashed: at no cost)");
  return text + "</p>";
}

std::string choices(const Problem& problem, const SteadyState& state, bool by_slot,
                    std::int64_t arrows) {
  const char* const pressed = " aria-pressed=\"true\"";
  bool tiles = false;
  for (const Op& op : problem.ops) tiles = tiles || sub_tile(op.id) >= 0;
  std::string text =
      "<div class=\"bar\"><span class=\"choice\" id=\"colour\">colour by "
      "<button data-by=\"slot\"" +
      std::string(by_slot ? pressed : "") +
      ">slot</button>"
      "<button data-by=\"iteration\"" +
      (by_slot ? "" : pressed) + ">iteration</button>";
  if (tiles) text += "<button data-by=\"tile\">sub-tile</button>";
  text +=
      "</span><span class=\"choice\" id=\"zoom\">zoom <button data-zoom=\"1\" "
      "aria-pressed=\"true\">1"
      "</button><button data-zoom=\"2\">2</button><button data-zoom=\"4\">4</button>"
      "<button data-zoom=\"8\">8</button><button data-zoom=\"32\">32</button></span>";
  if (arrows > 0)
    text += "<span class=\"choice\" id=\"arrows\"><button aria-pressed=\"" +
            std::string(arrows > kArrows ? "false" : "true") + "\">hand-overs</button></span>";
  text += "<span class=\"legend by-slot\">";
  for (std::size_t w = 0; w < problem.warps.size(); ++w) {
    text += "<b class=\"chip w" + std::to_string(static_cast<Cycle>(w)) + "\">" +
            html_escape(problem.warps[w].name) + "</b>";
  }
  text += "</span><span class=\"legend by-iteration\">";
  const Cycle shown = std::min<Cycle>(state.stages + kPeriods - 1, 6);
  for (Cycle k = 0; k < shown; ++k) {
    text += "<b class=\"chip i" + std::to_string(k) + "\">" + iteration_text(Section::steady, k) +
            "</b>";
  }
  text += "</span><span class=\"legend by-tile\">";
  std::vector<int> seen;
  for (const Op& op : problem.ops) {
    const int tile = sub_tile(op.id);
    if (tile >= 0 && std::find(seen.begin(), seen.end(), tile) == seen.end()) seen.push_back(tile);
  }
  std::sort(seen.begin(), seen.end());
  for (int tile : seen)
    text += "<b class=\"chip t" + std::to_string(tile % 4) + "\">sub-tile " + std::to_string(tile) +
            "</b>";
  return text + "<b class=\"chip t9\">shared</b></span></div>";
}

}  // namespace

bool several_slots(const Problem& problem, const Solution& solution) {
  int slot = -1;
  for (std::size_t v = 0; solution.schedule && v < problem.ops.size(); ++v) {
    if (problem.ops[v].cycles == 0) continue;
    if (slot >= 0 && slot != solution.schedule->warp[v]) return true;
    slot = solution.schedule->warp[v];
  }
  return false;
}

int sub_tile(const std::string& id) {
  if (id.size() < 2 || id[0] != 's') return -1;
  std::size_t k = 1;
  int tile = 0;
  while (k < id.size() && k < 4 && id[k] >= '0' && id[k] <= '9') tile = 10 * tile + (id[k++] - '0');
  return k > 1 && (k == id.size() || id[k] == '_') ? tile : -1;
}

std::string html_controls(const Problem& problem, const Solution& solution,
                          const SteadyState& state) {
  const std::int64_t arrows = crossing_edges(problem, *solution.schedule);
  return "<svg width=\"0\" height=\"0\" style=\"position:absolute\"><defs><marker id=\"head\" "
         "viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
         "orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 Z\"/></marker></defs></svg>" +
         choices(problem, state, several_slots(problem, solution), arrows) +
         shapes(problem, state, arrows);
}

std::string html_timeline(const Problem& problem, const Solution& solution,
                          const SteadyState& state, Cycle widest, const std::vector<bool>& moved) {
  Drawing drawing{problem, *solution.schedule, state, kPeriods * state.ii};
  drawing.moved = moved;
  drawing.middle.assign(problem.ops.size(), 0);
  drawing.heading("units");
  for (std::size_t f = 0; f < problem.units.size(); ++f) {
    // What only loads in flight pass through has a row as a channel.
    const bool channel = std::ranges::any_of(state.channels, [&](const ChannelLoad& load) {
      return problem.channels[at(load.channel)].name == problem.units[f].name;
    });
    if (channel && state.units[f].pieces.empty()) continue;
    drawing.track(problem.units[f].name, percent(state.busy[f]), state.units[f], -1);
  }
  if (!state.channels.empty()) drawing.heading("channels");
  for (const ChannelLoad& load : state.channels) drawing.level(load);
  drawing.heading("warp slots");
  for (std::size_t w = 0; w < problem.warps.size(); ++w) {
    drawing.track(problem.warps[w].name, "", state.slots[w], static_cast<int>(w));
  }
  drawing.axis();
  drawing.arrows();
  std::string edges;
  for (const Edge& edge : problem.edges) {
    edges += (edges.empty() ? "" : " ") + std::to_string(edge.from) + "-" + std::to_string(edge.to);
  }
  const std::string scale =
      decimal(widest > 0 ? static_cast<double>(state.ii) / static_cast<double>(widest) : 1.0, 6);
  return "<div class=\"timeline\" data-edges=\"" + edges + "\"><div class=\"names\">" +
         "<div class=\"corner\">cycle</div>" + drawing.names +
         "</div><div class=\"scroll\"><svg class=\"tl\" data-scale=\"" + scale + "\" data-span=\"" +
         std::to_string(drawing.span) + "\" width=\"" +
         decimal(widest > 0 ? 100.0 * static_cast<double>(state.ii) / static_cast<double>(widest)
                            : 100.0,
                 4) +
         "%\" height=\"" + std::to_string(drawing.y) +
         "\" role=\"group\" aria-label=\"timeline of the steady state: arrow keys go from op to "
         "op\">" +
         drawing.marks + drawing.bars + "</svg></div></div>";
}

}  // namespace twill
