// twill bench robust: the attention graphs with every cost scaled at random, many seeds each. Costs
// of real kernels are not as round as those of a model, and search time has a long tail, so one run
// says little: what counts is the distribution.

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/measured.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/random.hpp"

namespace twill::bench {
namespace {

struct RobustFlags {
  SearchFlags search;
  std::vector<std::string> kernels;
  int seeds = 50;
  int percent = 20;
  bool json = false;
};

/// Every positive number of cycles times a random factor in [1 - percent, 1 + percent]; equal
/// numbers stay equal, as they come from the same cost rule.
Problem scaled(Problem problem, std::uint64_t seed, int percent) {
  SplitMix64 random(seed);
  std::map<Cycle, Cycle> cost;
  const auto scale = [&](Cycle& x) {
    if (x == 0) return;
    const auto [place, fresh] = cost.emplace(x, 0);
    if (fresh)
      place->second =
          std::max<Cycle>(1, x * random.range(1000 - 10 * percent, 1000 + 10 * percent) / 1000);
    x = place->second;
  };
  for (Op& op : problem.ops) {
    scale(op.cycles);
    scale(op.spill);
    for (Reservation& r : op.reservations) {
      scale(r.length);
      r.offset = std::min(r.offset, op.cycles - 1);
      r.length = std::min(r.length, op.cycles - r.offset);
    }
  }
  for (Edge& e : problem.edges) {
    scale(e.delay);
    scale(e.hold);
    if (e.spill) scale(*e.spill);
  }
  return problem;
}

/// The layout on which the unscaled graph has its best schedule.
Problem best_layout(const std::string& kernel, const Options& options,
                    const std::stop_token& stop) {
  const std::string machine = usual_machine(kernel);
  std::optional<Problem> best;
  std::pair<Cycle, Cycle> key;
  LowerOptions published;
  published.reading = Reading::paper;
  for (Lowered& lowered :
       lower(builtin_kernel(kernel), kernel, builtin_machine(machine), machine, published)) {
    const Solution solution = solve(lowered.problem, options, stop);
    if (!solution.schedule) continue;
    const std::pair found{solution.schedule->initiation_interval, solution.schedule->length};
    if (best && key <= found) continue;
    key = found;
    best = std::move(lowered.problem);
  }
  if (!best)
    throw InputError("command line", "--kernel", kernel, "must have a schedule on " + machine);
  return *best;
}

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
}

int run(const RobustFlags& flags) {
  const Options options = flags.search.options();
  cli::Interrupt interrupt;
  Table table(std::cout, {{"graph", 26, false},
                          {"solved", 7},
                          {"median CPU s", 12},
                          {"90 %", 6},
                          {"slowest", 7},
                          {"its seed", 8},
                          {"I = bound", 9}});
  if (!flags.json) table.head();
  bool all = true;
  for (const std::string& kernel : flags.kernels.empty() ? attention_kernels() : flags.kernels) {
    const Problem problem = best_layout(kernel, options, interrupt.token());
    std::vector<double> seconds;
    int solved = 0, met = 0, slowest = 0;
    for (int seed = 1; seed <= flags.seeds && !interrupt.token().stop_requested(); ++seed) {
      const Problem instance = scaled(problem, static_cast<std::uint64_t>(seed), flags.percent);
      const std::clock_t begin = std::clock();
      const Solution solution = solve(instance, options, interrupt.token());
      const double spent = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      const bool optimal = solution.status == Status::optimal;
      solved += optimal;
      met +=
          optimal && solution.schedule->initiation_interval == lower_bounds(instance).front().value;
      if (seconds.empty() || spent > *std::max_element(seconds.begin(), seconds.end()))
        slowest = seed;
      seconds.push_back(spent);
      if (!flags.json) continue;
      nlohmann::ordered_json row{{"bench", "robust"},
                                 {"kernel", kernel},
                                 {"percent", flags.percent},
                                 {"cost_seed", seed},
                                 {"status", to_string(solution.status)},
                                 {"cpu_seconds", spent},
                                 {"conflicts", solution.conflicts}};
      if (solution.schedule) {
        row["initiation_interval"] = solution.schedule->initiation_interval;
        row["length"] = solution.schedule->length;
      }
      std::cout << row.dump() << std::endl;
    }
    if (interrupt.token().stop_requested()) return cli::kStopped;
    std::sort(seconds.begin(), seconds.end());
    all = all && solved == flags.seeds;
    const auto of_all = [&](int n) {
      return std::to_string(n) + "/" + std::to_string(flags.seeds);
    };
    if (!flags.json)
      table.row({kernel, of_all(solved), short_seconds(quantile(seconds, 0.5)),
                 short_seconds(quantile(seconds, 0.9)), short_seconds(seconds.back()),
                 std::to_string(slowest), of_all(met)});
  }
  return all ? cli::kDone : cli::kStopped;
}

}  // namespace

cli::Command robust_command(CLI::App& bench) {
  auto flags = std::make_shared<RobustFlags>();
  flags->search.search.time_limit = 30;
  CLI::App* app = bench.add_subcommand(
      "robust", "Solve the attention graphs at raw cycles with every cost scaled at random");
  app->add_option("--kernel", flags->kernels, "Only this graph; may be repeated (default: all)")
      ->allow_extra_args(false);
  app->add_option("--seeds", flags->seeds, "Random scalings a graph")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--percent", flags->percent, "Costs change by at most so much")
      ->check(CLI::Range(0, 99))
      ->capture_default_str();
  flags->search.add_to(*app, "a solve");
  app->add_flag("--json", flags->json, "A JSON object a solve, a line each");
  app->footer(
      "Each graph is taken on the layout with its best unscaled schedule. CPU seconds are those "
      "of\n"
      "the whole solve: I and L with their proofs. Exit codes: 0 all are solved, 3 some are not.");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
