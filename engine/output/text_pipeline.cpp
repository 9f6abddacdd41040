// The pipelined loop: every instruction with its iteration, its slot and its cycle.

#include <algorithm>

#include "engine/output/pipeline.hpp"
#include "engine/output/style.hpp"
#include "engine/output/text.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

struct Printer {
  const Problem& problem;
  const Schedule& schedule;
  const TextOptions& options;
  std::size_t number_width = 5;
  std::vector<int> columns;         ///< slots with any op, in order
  std::vector<std::size_t> widths;  ///< per entry of columns
  bool side_by_side = true;

  std::string label(Section section, const Instruction& instruction) const {
    return printable(problem.ops[at(instruction.op)].id) + "[" +
           iteration_text(section, instruction.iteration) + "]";
  }

  void measure(const Pipeline& code) {
    std::vector<std::size_t> width(problem.warps.size(), 0);
    const auto look = [&](Section section, const std::vector<Instruction>& list) {
      for (const Instruction& instruction : list) {
        auto& w = width[at(schedule.warp[at(instruction.op)])];
        w = std::max(w, display_width(label(section, instruction)));
        number_width = std::max(number_width, std::to_string(instruction.cycle).size());
      }
    };
    look(Section::prologue, code.prologue);
    look(Section::steady, code.steady);
    look(Section::epilogue, code.epilogue);
    std::size_t total = 2 + number_width;
    for (std::size_t w = 0; w < width.size(); ++w) {
      if (width[w] == 0) continue;
      columns.push_back(static_cast<int>(w));
      widths.push_back(std::max(width[w], display_width(problem.warps[w].name)));
      total += 2 + widths.back();
    }
    side_by_side = total <= static_cast<std::size_t>(std::max(options.width, kLeastWidth));
  }

  std::string header() const {
    std::string text = "  " + fit("cycle", number_width, options.ascii, true);
    if (!side_by_side) return text + "  slot        instruction\n";
    for (std::size_t c = 0; c < columns.size(); ++c) {
      text += "  " + fit(printable(problem.warps[at(columns[c])].name), widths[c], options.ascii);
    }
    return trimmed(text) + "\n";
  }

  static std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  std::string cycle(const std::vector<Instruction>& list, std::size_t k) const {
    const bool again = k > 0 && list[k].cycle == list[k - 1].cycle;
    return "  " + fit(again ? "" : std::to_string(list[k].cycle), number_width, true, true);
  }

  std::string listed(Section section, const std::vector<Instruction>& list) const {
    std::string text;
    for (std::size_t k = 0; k < list.size(); ++k) {
      const auto& name = problem.warps[at(schedule.warp[at(list[k].op)])].name;
      text += cycle(list, k) + "  " + fit(printable(name), 10, options.ascii) + "  " +
              label(section, list[k]) + "\n";
    }
    return text;
  }

  /// Instructions of one cycle share a line as long as they go from left to right, so that lines
  /// read like a page give the issue order.
  std::string in_columns(Section section, const std::vector<Instruction>& list) const {
    std::string text;
    for (std::size_t k = 0; k < list.size();) {
      std::string line = cycle(list, k);
      const Cycle now = list[k].cycle;
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const bool here =
            k < list.size() && list[k].cycle == now && schedule.warp[at(list[k].op)] == columns[c];
        line += "  " + fit(here ? label(section, list[k]) : "", widths[c], options.ascii);
        if (here) ++k;
      }
      text += trimmed(line) + "\n";
    }
    return text;
  }

  std::string body(Section section, const std::vector<Instruction>& list) const {
    return header() + (side_by_side ? in_columns(section, list) : listed(section, list));
  }
};

}  // namespace

std::string text_pipeline(const Problem& problem, const Solution& solution,
                          const SteadyState& state, const TextOptions& options) {
  const Pipeline code = pipeline(state);
  Printer printer{problem, *solution.schedule, options, 5, {}, {}, true};
  printer.measure(code);

  const std::string n = std::to_string(state.stages);
  const std::string last = state.stages == 1 ? "n-1" : "n-" + n;
  std::string text = "Pipelined loop, " + plural(state.stages, "stage") +
                     ", n iterations (n >= " + n + "); op[k] is the op of iteration k\n";
  text += "prologue\n";
  if (code.abridged) {
    text += "  the steady state with i = " + std::to_string(1 - state.stages) +
            " .. -1, without iterations below 0\n";
  } else {
    text += printer.body(Section::prologue, code.prologue);
  }
  text += "steady state, for i = 0 .. " + last + ", every " + plural(state.ii, "cycle") + "\n";
  text += printer.body(Section::steady, code.steady);
  text += "epilogue\n";
  if (code.abridged) {
    text += "  the steady state with i = n-" + std::to_string(state.stages - 1) +
            " .. n-1, without iterations from n on\n";
  } else {
    text += printer.body(Section::epilogue, code.epilogue);
  }
  return text;
}

}  // namespace twill
