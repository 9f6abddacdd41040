// The timeline: time runs to the right over one period, one line for each lane of each unit and
// slot. A short period gets several columns a cycle, a long one several cycles a column.

#include <algorithm>
#include <cmath>

#include "engine/output/pipeline.hpp"
#include "engine/output/style.hpp"
#include "engine/output/text.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

/// One line of the timeline: a code point and the slot whose colour it has (-1 = none) a column.
struct Line {
  explicit Line(std::size_t width, const std::string& idle) : cells(width, idle), slot(width, -1) {}
  std::vector<std::string> cells;
  std::vector<int> slot;
};

/// Places cycles in columns. `cells` is the number of columns of the period.
struct Scale {
  Cycle ii;
  Cycle cells;
  std::size_t column(Cycle cycle) const {
    return static_cast<std::size_t>(std::llround(
        static_cast<double>(cycle) * static_cast<double>(cells) / static_cast<double>(ii)));
  }
};

std::string label_of(const Problem& problem, const BusyPiece& piece) {
  return printable(problem.ops[at(piece.op)].id) + "[" +
         iteration_text(Section::steady, piece.iteration) + "]";
}

/// Whole numbers of columns a cycle when the period is short: enough for the longest label.
Scale choose_scale(const Problem& problem, const SteadyState& state, Cycle room) {
  if (state.ii > room) return {state.ii, room};
  Cycle wanted = 1;
  const auto consider = [&](const Lanes& lanes) {
    for (const BusyPiece& piece : lanes.pieces) {
      const auto label = static_cast<Cycle>(display_width(label_of(problem, piece))) + 2;
      const Cycle length = piece.end - piece.begin;
      wanted = std::max(wanted, (label + length - 1) / length);
    }
  };
  for (const Lanes& lanes : state.units) consider(lanes);
  for (const Lanes& lanes : state.slots) consider(lanes);
  return {state.ii, state.ii * std::min(wanted, room / state.ii)};
}

/// The longest label that fits: the op with its iteration, the op, its number in the op table.
void write_label(const Problem& problem, const BusyPiece& piece, std::size_t from, std::size_t to,
                 Line& line) {
  const std::string number = std::to_string(piece.op + 1);
  const std::string id = printable(problem.ops[at(piece.op)].id);
  for (const std::string& label : {label_of(problem, piece), id, number}) {
    if (display_width(label) > to - from) continue;
    std::size_t column = from;
    for (std::size_t k = 0; k < label.size();) {
      std::size_t bytes = 1;
      while (k + bytes < label.size() &&
             (static_cast<unsigned char>(label[k + bytes]) & 0xC0U) == 0x80U) {
        ++bytes;
      }
      line.cells[column++] = label.substr(k, bytes);
      k += bytes;
    }
    return;
  }
}

/// A later piece that falls into the column where an earlier one ends takes it.
void draw(const Problem& problem, const BusyPiece& piece, const Scale& scale, int slot,
          const TextOptions& options, Line& line) {
  const std::size_t begin = std::min(scale.column(piece.begin), line.cells.size() - 1);
  const std::size_t end = std::clamp(scale.column(piece.end), begin + 1, line.cells.size());
  for (std::size_t x = begin; x < end; ++x) {
    line.cells[x] = options.ascii ? "=" : "━";
    line.slot[x] = slot;
  }
  std::size_t text = begin;
  if (piece.first) line.cells[text++] = options.ascii ? "|" : "┃";
  write_label(problem, piece, text, end, line);
}

std::string render(const Line& line, const std::vector<Colour>& colours, bool colour) {
  std::string text;
  int current = -1;
  for (std::size_t x = 0; x < line.cells.size(); ++x) {
    if (colour && line.slot[x] != current) {
      current = line.slot[x];
      text += current < 0 ? "\x1b[0m"
                          : "\x1b[30;48;5;" + std::to_string(colours[at(current)].terminal) + "m";
    }
    text += line.cells[x];
  }
  if (current >= 0) text += "\x1b[0m";
  return text;
}

/// Numbers at round cycles (1, 2 or 5 times a power of ten), no closer than a number is wide.
std::string axis(const Scale& scale) {
  const auto width = static_cast<Cycle>(std::to_string(scale.ii).size()) + 3;
  Cycle step = 1;
  for (int k = 0; step * scale.cells < width * scale.ii; ++k) {
    step = k % 3 == 1 ? step / 2 * 5 : step * 2;
  }
  std::string text;
  for (Cycle cycle = 0; cycle < scale.ii; cycle += step) {
    const std::size_t x = scale.column(cycle);
    const std::string number = std::to_string(cycle);
    if (x + number.size() > static_cast<std::size_t>(scale.cells)) break;
    text.resize(x, ' ');
    text += number;
  }
  return text;
}

}  // namespace

std::string text_timeline(const Problem& problem, const Solution& solution,
                          const SteadyState& state, const TextOptions& options) {
  std::size_t names = 4;
  for (const Unit& unit : problem.units) names = std::max(names, display_width(unit.name));
  for (const WarpSlot& slot : problem.warps) names = std::max(names, display_width(slot.name));
  names = std::min<std::size_t>(names, 14);
  const std::string edge = options.ascii ? "|" : "│";
  const std::string idle = options.ascii ? "." : "·";
  // "  " name " │" ... "│ 100.0 %"
  const auto room = static_cast<Cycle>(std::max(options.width, kLeastWidth)) -
                    static_cast<Cycle>(names + 2 + 2 + 1 + 8);
  const Scale scale = choose_scale(problem, state, room);
  const auto columns = static_cast<std::size_t>(scale.cells);
  const std::vector<Colour> colours = slot_colours(problem, solution);

  std::string text = "  " + fit("cycle", std::max<std::size_t>(names, 5), options.ascii);
  names = std::max<std::size_t>(names, 5);
  text += "  " + axis(scale) + "\n";
  const auto add = [&](const std::string& name, const Lanes& lanes, double busy) {
    for (int lane = 0; lane < lanes.count; ++lane) {
      Line line(columns, idle);
      for (const BusyPiece& piece : lanes.pieces) {
        if (piece.lane != lane) continue;
        draw(problem, piece, scale, solution.schedule->warp[at(piece.op)], options, line);
      }
      text += "  " + fit(lane == 0 ? printable(name) : "", names, options.ascii) + " " + edge +
              render(line, colours, options.colour) + edge;
      if (busy >= 0 && lane == 0) text += " " + fit(percent(busy), 7, options.ascii, true);
      text += "\n";
    }
  };
  for (std::size_t f = 0; f < problem.units.size(); ++f) {
    add(problem.units[f].name, state.units[f], state.busy[f]);
  }
  text += "\n";
  for (std::size_t w = 0; w < problem.warps.size(); ++w) {
    add(problem.warps[w].name, state.slots[w], -1);
  }
  return text;
}

}  // namespace twill
