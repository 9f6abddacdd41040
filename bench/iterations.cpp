// twill bench iterations: the best time over the number of iterations, and where the best schedule
// changes. The time of one schedule is (N - 1) I + L, a straight line over N. The best is the lower
// envelope of such lines, so that I falls as N grows and a change between two N is found by
// halving.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/lab/plot.hpp"
#include "bench/measured.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"
#include "graph/bounds/whole_time.hpp"
#include "graph/io/file.hpp"

namespace twill::bench {
namespace {

struct IterationsFlags {
  SearchFlags search;
  std::vector<std::string> inputs;
  std::string machine, reading, plot;
  Cycle most = 64;
  bool json = false;
};

/// The best for a number of iterations.
struct Best {
  bool proved = false;
  std::string layout;
  Cycle ii = 0, length = 0, time = 0;
  bool same_line(const Best& other) const { return ii == other.ii && length == other.length; }
};

class Curves {
 public:
  Curves(const IterationsFlags& flags, const std::string& input, const std::string& machine,
         const std::stop_token& stop)
      : options_(flags.search.options()), stop_(stop) {
    cli::WorkloadFlags work;
    work.input = input;
    work.machine = machine;
    work.reading = flags.reading;
    layouts_ = flags.search.load(work).problems;
  }

  /// By N: the best at 1, at `most` and wherever it changes between them.
  std::map<Cycle, Best> changes(Cycle most) {
    if (at(1).ii == 0) return {{1, at(1)}};
    between(1, most);
    std::map<Cycle, Best> result;
    for (const auto& [n, best] : known_)
      if (result.empty() || !best.same_line(result.rbegin()->second)) result.emplace(n, best);
    return result;
  }
  bool proved() const {
    return std::all_of(known_.begin(), known_.end(), [](const auto& b) { return b.second.proved; });
  }

  /// Of N iterations; 0 of many: the smallest I, then L.
  const Best& at(Cycle n) {
    std::map<Cycle, Best>& known = n == 0 ? steady_ : known_;
    if (const auto there = known.find(n); there != known.end()) return there->second;
    Options options = options_;
    options.iterations = n;
    const LayoutsSolution all = solve_layouts(layouts_, options, stop_);
    Best best;
    if (all.outcomes[all.chosen].solution && all.solution().schedule) {
      const Schedule& schedule = *all.solution().schedule;
      best.layout = all.layout().layout;
      best.ii = schedule.initiation_interval;
      best.length = schedule.length;
      best.time = n == 0 ? 0 : whole_time(n, best.ii, best.length);
    }
    best.proved = all.status == Status::optimal || all.status == Status::infeasible;
    return known[n] = best;
  }

 private:
  void between(Cycle low, Cycle high) {
    if (high - low < 2 || stop_.stop_requested()) {
      at(high);
      return;
    }
    if (at(low).same_line(at(high))) return;
    const Cycle middle = low + (high - low) / 2;
    between(low, middle);
    between(middle, high);
  }

  Options options_;
  const std::stop_token& stop_;
  std::vector<Lowered> layouts_;
  std::map<Cycle, Best> known_, steady_;
};

// The cycles of an iteration, by the best schedule and by that of the smallest I.
void plot(const std::string& path, const std::string& name, const std::map<Cycle, Best>& changes,
          const Best& steady, Cycle most) {
  Lines lines{name + ": cycles an iteration", "iterations N", "((N - 1) I + L) / N", {}, {}};
  Curve best{"best of N", {}}, same{"smallest I, then L", {}};
  for (Cycle n = 1; n <= most; ++n) {
    const Best& b = std::prev(changes.upper_bound(n))->second;
    const auto each = [&](const Best& s) {
      return static_cast<double>(whole_time(n, s.ii, s.length)) / static_cast<double>(n);
    };
    best.points.emplace_back(n, each(b));
    same.points.emplace_back(n, each(steady));
  }
  for (const auto& [n, b] : changes)
    lines.marks.emplace_back(static_cast<double>(n),
                             "I " + std::to_string(b.ii) + ", L " + std::to_string(b.length));
  lines.curves = {best, same};
  write_file(path, lines_svg(lines));
}

int run(const IterationsFlags& flags) {
  cli::Interrupt interrupt;
  Table table(std::cout, {{"loop", 24, false},
                          {"machine", 9, false},
                          {"N from", 6},
                          {"to", 6},
                          {"layout", 20, false},
                          {"I", 6},
                          {"L", 6},
                          {"cycles at the first N", 21},
                          {"with the smallest I", 19},
                          {"saved", 6}});
  if (!flags.json) table.head();
  std::vector<std::string> inputs = flags.inputs;
  if (inputs.empty()) inputs = attention_kernels();
  if (!flags.plot.empty() && inputs.size() > 1)
    throw InputError("command line", "-o", flags.plot, "a plot is of one loop");
  bool all = true;
  for (const std::string& input : inputs) {
    const std::string name = std::filesystem::path(input).stem().string();
    const std::string usual = usual_machine(name);
    const std::string machine = !flags.machine.empty() ? flags.machine : usual;
    const auto begin = std::chrono::steady_clock::now();
    Curves curves(flags, input, machine, interrupt.token());
    const std::map<Cycle, Best> changes = curves.changes(flags.most);
    const Best steady = curves.at(0);
    if (interrupt.token().stop_requested()) return cli::kStopped;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    all = all && curves.proved() && steady.proved;
    nlohmann::ordered_json pieces = nlohmann::ordered_json::array();
    for (auto piece = changes.begin(); piece != changes.end(); ++piece) {
      const auto& [n, best] = *piece;
      const Cycle last =
          std::next(piece) == changes.end() ? flags.most : std::next(piece)->first - 1;
      const Cycle other = whole_time(n, steady.ii, steady.length);
      pieces.push_back({{"from", n},
                        {"to", last},
                        {"layout", best.layout},
                        {"initiation_interval", best.ii},
                        {"length", best.length},
                        {"cycles", best.time},
                        {"cycles_with_smallest_interval", other},
                        {"proved", best.proved}});
      if (flags.json) continue;
      char saved[32];
      std::snprintf(saved, sizeof saved, "%.1f %%",
                    100 * (1 - static_cast<double>(best.time) / static_cast<double>(other)));
      table.row({name, machine, std::to_string(n), std::to_string(last), best.layout,
                 best.ii == 0 ? "-" : std::to_string(best.ii) + (best.proved ? "" : "?"),
                 std::to_string(best.length), std::to_string(best.time), std::to_string(other),
                 best.ii == 0 ? "-" : saved});
    }
    if (flags.json)
      std::cout << nlohmann::ordered_json{{"bench", "iterations"}, {"loop", name},
                                          {"machine", machine},    {"most", flags.most},
                                          {"pieces", pieces},      {"wall_seconds", seconds}}
                       .dump()
                << std::endl;
    if (!flags.plot.empty() && changes.begin()->second.ii > 0)
      plot(flags.plot, name + " on " + machine, changes, steady, flags.most);
  }
  return all ? cli::kDone : cli::kStopped;
}

}  // namespace

cli::Command iterations_command(CLI::App& bench) {
  auto flags = std::make_shared<IterationsFlags>();
  flags->search.search.time_limit = 60;
  CLI::App* app = bench.add_subcommand(
      "iterations", "The best time of N iterations over N, and where the best schedule changes");
  app->add_option(
      "LOOP", flags->inputs,
      "Built-in kernels, files of kernels or problems, or TTGIR modules (default: attention)");
  app->add_option("--machine", flags->machine,
                  "A machine (default: the one that a loop's name begins with)");
  app->add_option("--reading", flags->reading, "machine or paper (default: the machine's)")
      ->check(CLI::IsMember({"machine", "paper"}));
  app->add_option("--most", flags->most, "The largest number of iterations")
      ->check(CLI::Range(Cycle{2}, kMaxIterations))
      ->capture_default_str();
  flags->search.add_to(*app, "a solve");
  app->add_flag("--json", flags->json, "A JSON object a loop, a line each");
  app->add_option("-o,--output", flags->plot, "Write the curve of one loop as SVG");
  app->footer("Exit codes: 0 all is proved, 3 some is not (?).");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
