#include "engine/output/text.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "engine/output/style.hpp"
#include "graph/index.hpp"
#include "graph/memory_charges.hpp"
#include "graph/restriction.hpp"

namespace twill {
namespace {

std::string bold(const std::string& text, const TextOptions& options) {
  return options.colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

/// "  I  2064 cycles  (lower bound 2064: smallest possible)"; of a search that left schedules out,
/// "... smallest of those searched".
std::string bounded(const char* name, Cycle value, Cycle bound, bool restricted) {
  std::string text = std::string("  ") + name + "  " + plural(value, "cycle");
  if (bound <= 0) return text + "  (no lower bound proved)";
  text += "  (lower bound " + std::to_string(bound);
  if (bound >= value) text += restricted ? ": smallest of those searched" : ": smallest possible";
  return text + ")";
}

/// Iterations of the loop in one; 1 where nobody says that it is unrolled.
int copies_in(const Solution& solution) {
  if (!solution.made_by) return 1;
  for (const auto& [name, value] : solution.made_by->options)
    if (int copies = 0;
        name == "unroll" &&
        std::from_chars(value.data(), value.data() + value.size(), copies).ec == std::errc())
      return copies;
  return 1;
}

std::string header(const Problem& problem, const Solution& solution, const TextOptions& options) {
  std::string text =
      bold(printable(problem.name) + ": " + to_string(solution.status), options) + "\n";
  const std::string restriction = restriction_of(solution);
  const bool restricted = !restriction.empty();
  if (const std::string made = made_by_text(solution); !made.empty())
    text += "  " + printable(made) + "\n";
  if (restricted) text += "  only schedules " + printable(restriction) + " were searched\n";
  if (solution.schedule) {
    const Schedule& schedule = *solution.schedule;
    const Cycle ii = schedule.initiation_interval;
    text += bounded("I", ii, solution.ii_lower_bound, restricted) + "\n";
    if (const int copies = copies_in(solution); copies > 1)
      text += "     of " + std::to_string(copies) + " iterations, " +
              decimal(static_cast<double>(ii) / copies, ii % copies == 0 ? 0 : 2) +
              " cycles each: the loop is unrolled\n";
    text += bounded("L", schedule.length, solution.length_lower_bound, restricted) + "\n";
    if (const auto& time = solution.whole_time) {
      const std::string name = "T of " + plural(time->iterations, "iteration") + ", (N - 1) I + L,";
      text += bounded(name.c_str(), time->cycles, time->lower_bound, restricted) + "\n";
    }
    if (const auto& slack = solution.length_slack)
      text += "  goals may cost " + plural(slack->cycles, "cycle") + " of L: at most " +
              std::to_string(slack->at_most) + "\n";
    text += "  " + plural(stage_count(schedule), "stage") + ", " +
            plural(static_cast<std::int64_t>(problem.ops.size()), "op");
    if (problem.cycle_unit != 1.0) {
      text += "; one cycle is " + decimal(problem.cycle_unit, problem.cycle_unit < 1 ? 5 : 2) +
              " clocks: I is about " + decimal(problem.cycle_unit * static_cast<double>(ii), 0) +
              " clocks";
    }
    text += "\n";
    for (const BandwidthSum& sum : options.bandwidth) {
      text += "  bandwidth of " + printable(sum.unit) + ": " + plural(sum.cycles, "clock") +
              " an iteration, " + percent(bandwidth_share(problem, ii, sum)) + " of I" +
              (bandwidth_exceeded(problem, ii, sum) ? "  WARNING: exceeds I" : "") + "\n";
    }
  } else {
    text += "  " + printable(no_schedule_text(solution)) + "\n";
  }
  const bool ended = solution.status == Status::optimal || solution.status == Status::infeasible;
  if (solution.schedule && !ended && cut_short(solution.stop))
    text += "  " + printable(stop_text(solution)) + "\n";
  if (!solution.stages.empty()) {
    text += ended ? "  stages searched: " : "  stages to search, not all were: ";
    text += printable(solution.stages);
    if (solution.max_stages > 0) text += ", up to " + std::to_string(solution.max_stages);
    text += "\n";
  }
  const GoalLines goals = goal_lines(problem, solution);
  for (const Goal& goal : goals.single) {
    text += "  goal " + printable(goal.name) + ": ";
    text += goal.name == "slack" ? std::to_string(-goal.value) + " cycles (upper bound " +
                                       std::to_string(-goal.lower_bound) + "), before L\n"
                                 : std::to_string(goal.value) + " (lower bound " +
                                       std::to_string(goal.lower_bound) + ")\n";
  }
  if (goals.canonical > 0) {
    text += "  goal canonical: " + std::to_string(goals.proved) + " of " +
            std::to_string(goals.canonical) + " starts and slots proved smallest, in file order\n";
  }
  if (!solution.conflict.empty()) {
    text += std::string("  ") + conflict_title(solution) + ":\n";
    for (const std::string& line : solution.conflict) text += "    " + printable(line) + "\n";
  }
  return text;
}

/// "  softmax0  164 of 168 at cycle 37: s0_exp_p 128, 2 x s0_m 1"; a ring is "ring of K: 3 x
/// 16384".
void add_pressure(const Problem& problem, const std::string& name, const Pressure& pressure,
                  const std::vector<Amount>& amounts, const TextOptions& options,
                  std::string& text) {
  std::string line = "  " + fit(printable(name), 12, options.ascii) + " " +
                     fit(std::to_string(pressure.peak), 8, options.ascii, true) + " of " +
                     fit(std::to_string(pressure.capacity), 8, options.ascii);
  if (pressure.peak > pressure.capacity) line += "  EXCEEDED";
  if (pressure.peak > 0) {
    line += "  cycle " + std::to_string(pressure.peak_cycle) + ":";
    const auto room = static_cast<std::size_t>(std::max(options.width, kLeastWidth));
    std::vector<std::pair<int, Cycle>> live = pressure.live;
    std::set<int> in_ring;
    for (const ChargedRing& ring : pressure.rings) {
      in_ring.insert(ring.load);
      live.emplace_back(ring.load, ring.buffers);
    }
    std::stable_sort(live.begin(), live.end(), [&](const auto& a, const auto& b) {
      return static_cast<double>(amounts[at(a.first)]) * static_cast<double>(a.second) >
             static_cast<double>(amounts[at(b.first)]) * static_cast<double>(b.second);
    });
    for (std::size_t k = 0; k < live.size(); ++k) {
      const auto [op, copies] = live[k];
      std::string item = k == 0 ? " " : ", ";
      const std::string id = printable(problem.ops[at(op)].id);
      const std::string times = std::to_string(copies) + " x ",
                        each = std::to_string(amounts[at(op)]);
      if (in_ring.contains(op))
        item += "ring of " + id + ": " + times + each;
      else
        item += (copies > 1 ? times : "") + id + " " + each;
      const std::string more = ", +" + std::to_string(live.size() - k);
      const bool last = k + 1 == live.size();
      if (display_width(line + item) + (last ? 0 : more.size()) > room) {
        line += k == 0 ? " " + plural(static_cast<std::int64_t>(live.size()), "result") : more;
        break;
      }
      line += item;
    }
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

/// "  SMEM         100.0 %  I >= 1792, binds: 3 x 65536 + 32768 = 229376 at 128 a cycle".
std::string channels(const Problem& problem, const SteadyState& state, const TextOptions& options) {
  if (state.channels.empty()) return {};
  std::string text = bold("Channels, share of I that each is busy", options) + "\n";
  const auto room = static_cast<std::size_t>(std::max(options.width, kLeastWidth));
  for (const ChannelLoad& load : state.channels) {
    std::string line =
        "  " + fit(printable(problem.channels[at(load.channel)].name), 12, options.ascii) + " " +
        fit(percent(load.busy), 8, options.ascii, true) + "  I >= " + std::to_string(load.least) +
        (load.binds ? ", binds: " : ": ") + load.sum;
    if (display_width(line) > room) line = fit(line, room, options.ascii);
    text += line + "\n";
  }
  return text + "\n";
}

/// The counts that solve_split() chose, with what they are at launch.
std::string register_split(const Solution& solution, const TextOptions& options) {
  const SplitLines split = split_lines(solution);
  if (split.counts.empty()) return {};
  std::string text = "\n" + bold("Register split (setmaxnreg)", options) + ", chosen; " +
                     printable(split.launch) + " a thread at launch\n";
  for (const auto& [slots, count] : split.counts)
    text += "  " + printable(slots) + ": " + printable(count) + "\n";
  return text;
}

std::string storage(const Problem& problem, const SteadyState& state, const Solution& solution,
                    const TextOptions& options) {
  std::string text = bold("Peak registers a thread, by slot", options) + "\n";
  std::vector<Amount> amounts;
  for (const Op& op : problem.ops) amounts.push_back(op.registers);
  for (std::size_t w = 0; w < problem.warps.size(); ++w) {
    add_pressure(problem, problem.warps[w].name, state.registers[w], amounts, options, text);
  }
  text += register_split(solution, options);
  if (!problem.memories.empty()) text += "\n" + bold("Peak memory", options) + "\n";
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    const MemoryCharges charges = memory_charges(problem, static_cast<int>(m));
    for (std::size_t v = 0; v < problem.ops.size(); ++v) {
      amounts[v] = charges.ring[v] > 0 ? charges.ring[v] : charges.live[v];
    }
    add_pressure(problem, problem.memories[m].name, state.memories[m], amounts, options, text);
  }
  if (!solution.ring_depths.empty()) {
    text += "\n" + bold(ring_title(problem), options) + "\n ";
    for (const auto& [op, depth] : solution.ring_depths) {
      text += " " + printable(op) + " " + std::to_string(depth);
    }
    text += "\n";
  }
  return text;
}

/// Columns as wide as their entries; ids and kinds give way when the line would exceed the width.
std::string op_table(const Problem& problem, const Solution& solution, const SteadyState& state,
                     const TextOptions& options) {
  std::vector<std::vector<std::string>> rows = {
      {"#", "op", "kind", "slot", "start", "row", "stage", "cycles", "live", "copies", "unit"}};
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const Op& op = problem.ops[v];
    const int slot = solution.schedule->warp[v];
    rows.push_back({std::to_string(v + 1), printable(op.id), printable(op.kind),
                    printable(problem.warps[at(slot)].name),
                    std::to_string(solution.schedule->start[v]), std::to_string(state.row[v]),
                    std::to_string(state.stage[v]), std::to_string(op.cycles),
                    std::to_string(state.lifetime[v]), std::to_string(state.copies[v]),
                    units_of(problem, static_cast<int>(v))});
  }
  std::vector<std::size_t> width(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      width[c] = std::max(width[c], display_width(row[c]));
    }
  }
  std::size_t total = 2 * width.size();
  for (std::size_t w : width) total += w;
  const auto room = static_cast<std::size_t>(std::max(options.width, kLeastWidth));
  for (std::size_t c : {std::size_t{2}, std::size_t{10}, std::size_t{1}, std::size_t{3}}) {
    const std::size_t keep = c == 1 ? 16 : c == 3 ? 8 : 6;
    while (total > room && width[c] > keep) --width[c], --total;
  }
  const auto is_number = [](std::size_t c) { return c == 0 || (c >= 4 && c <= 9); };
  std::string text =
      bold("Ops", options) + " (live: cycles its result is held; copies: most held at once)\n";
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += "  " + fit(row[c], width[c], options.ascii, is_number(c));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string text_picture(const Problem& problem, const Solution& solution,
                         const TextOptions& options) {
  std::string text = header(problem, solution, options);
  if (!solution.schedule) return text;
  const SteadyState state = steady_state(problem, *solution.schedule);
  text += "\n" + bold("Steady state", options) + ", cycles 0 to " + std::to_string(state.ii) +
          " (numbers: # in the op table; right: busy)\n";
  text += text_timeline(problem, solution, state, options);
  text += "\n" + channels(problem, state, options) + storage(problem, state, solution, options);
  text += "\n" + op_table(problem, solution, state, options);
  text += "\n" + text_pipeline(problem, solution, state, options);
  return text;
}

}  // namespace twill
