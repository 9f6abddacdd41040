// twill bench nested: what rule 12 gives away. Random loops with a loop inside, few trips: the
// outer interval around the best schedule of the inner loop, beside that of the loop unrolled,
// where all schedules are allowed.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/include/twill_nested.hpp"
#include "graph/error.hpp"
#include "graph/synthetic.hpp"

namespace twill::bench {
namespace {

struct NestedFlags {
  SearchFlags search;
  int loops = 100, ops = 9;
  std::int64_t trips = 4;
  bool json = false;
};

/// The middle half of the ops is the inner loop.
NestedLoop nest_of(std::uint64_t seed, int ops, std::int64_t trips) {
  SyntheticLoop knobs;
  knobs.seed = seed;
  knobs.ops = ops;
  knobs.pressure = 40;  // of one iteration: the outer loop's results live longer
  NestedLoop nest{synthetic_loop(knobs), {}, trips, "inner"};
  for (int v = ops / 4; v < ops - ops / 4; ++v) nest.inner.push_back(v);
  return nest;
}

struct Sums {
  int asked = 0, both = 0, same_interval = 0, same_all = 0, no_parts = 0, none = 0, limit = 0;
  double ratio = 0, worst = 1, apart = 0;
};

void compare(std::uint64_t seed, const NestedFlags& flags, std::int64_t trips,
             const std::stop_token& stop, Sums& sums) {
  const NestedLoop nest = nest_of(seed, flags.ops, trips);
  const Options options = flags.search.options();
  ++sums.asked;
  try {
    check(nest);
    const Problem flat = flat_problem(nest);
    const Solution all = solve(flat, options, stop);
    if (all.status == Status::infeasible) return void(++sums.none);
    const NestedSolution parts = solve_nested({nest}, {""}, options, stop);
    const bool settled = parts.outer ? parts.outer->status != Status::feasible &&
                                           parts.outer->status != Status::unknown
                                     : parts.layouts[0].inner.status == Status::infeasible;
    if (all.status != Status::optimal || !settled) return void(++sums.limit);
    if (!parts.outer || !parts.outer->solution().schedule) return void(++sums.no_parts);
    const Schedule &best = *all.schedule, &given = *parts.outer->solution().schedule;
    const Schedule& run = *parts.layouts[0].inner.schedule;
    ++sums.both;
    sums.same_interval += best.initiation_interval == given.initiation_interval;
    sums.same_all +=
        best.initiation_interval == given.initiation_interval && best.length == given.length;
    const auto to = [&](Cycle ii) {
      return static_cast<double>(ii) / static_cast<double>(best.initiation_interval);
    };
    sums.ratio += to(given.initiation_interval);
    sums.worst = std::max(sums.worst, to(given.initiation_interval));
    sums.apart += to((trips - 1) * run.initiation_interval + run.length);
  } catch (const InputError&) {
    ++sums.none;  // a cycle of dependences through both levels
  }
}

int run(const NestedFlags& flags) {
  cli::Interrupt interrupt;
  Table table(std::cout, {{"trips", 5},
                          {"loops", 5},
                          {"none", 5},
                          {"limit", 5},
                          {"only unrolled", 13},
                          {"same I", 7},
                          {"same I and L", 12},
                          {"I / unrolled", 12},
                          {"worst", 6},
                          {"a run / unrolled", 16},
                          {"seconds", 7}});
  if (!flags.json) table.head();
  for (std::int64_t trips = 1; trips <= flags.trips; ++trips) {
    Sums sums;
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 1; k <= flags.loops && !interrupt.token().stop_requested(); ++k)
      compare(flags.search.search.seed + static_cast<std::uint64_t>(k), flags, trips,
              interrupt.token(), sums);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double both = std::max(1, sums.both);
    if (flags.json) {
      std::cout << nlohmann::ordered_json{{"bench", "nested"},
                                          {"trips", trips},
                                          {"loops", sums.asked},
                                          {"none", sums.none},
                                          {"limit", sums.limit},
                                          {"only_unrolled", sums.no_parts},
                                          {"both", sums.both},
                                          {"same_interval", sums.same_interval},
                                          {"same_interval_and_length", sums.same_all},
                                          {"mean_ratio", sums.ratio / both},
                                          {"worst_ratio", sums.worst},
                                          {"mean_run_ratio", sums.apart / both},
                                          {"wall_seconds", seconds}}
                       .dump()
                << std::endl;
    } else {
      const auto decimals = [](double x) {
        char text[32];
        std::snprintf(text, sizeof text, "%.3f", x);
        return std::string(text);
      };
      table.row({std::to_string(trips), std::to_string(sums.asked), std::to_string(sums.none),
                 std::to_string(sums.limit), std::to_string(sums.no_parts),
                 std::to_string(sums.same_interval), std::to_string(sums.same_all),
                 decimals(sums.ratio / both), decimals(sums.worst), decimals(sums.apart / both),
                 decimals(seconds)});
    }
    if (interrupt.token().stop_requested()) return cli::kStopped;
  }
  return cli::kDone;
}

}  // namespace

cli::Command nested_command(CLI::App& bench) {
  auto flags = std::make_shared<NestedFlags>();
  flags->search.search.time_limit = 20;
  CLI::App* app = bench.add_subcommand(
      "nested", "Loops with a loop inside: parts at fixed offsets beside the loop unrolled");
  app->add_option("--loops", flags->loops, "Random loops for each number of trips")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app->add_option("--ops", flags->ops, "Ops of a loop; the middle half is the inner one")
      ->capture_default_str()
      ->check(CLI::Range(4, 1'000));
  app->add_option("--times", flags->trips, "The most trips of a run")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  app->add_flag("--json", flags->json, "A line of JSON for each number of trips");
  flags->search.add_to(*app, "a search");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
