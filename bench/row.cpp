// twill bench row: one problem solved in this process, the figures as a line of
// JSON.

#include <chrono>
#include <ctime>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "bench/bench.hpp"
#include "bench/curve.hpp"
#include "bench/lab/cpu_watch.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/workload.hpp"
#include "graph/bounds/bounds.hpp"

namespace twill::bench {
namespace {

using Json = nlohmann::ordered_json;

struct RowFlags {
  cli::WorkloadFlags work;
  SearchFlags search;
  double cpu_limit = 0;  ///< seconds of this process; 0 = none
  bool curve = false;
};

Json bounds_of(const Problem& problem) {
  Json list = Json::array();
  for (const Bound& bound : lower_bounds(problem)) {
    list.push_back({{"value", bound.value}, {"name", bound.name}, {"text", bound.text}});
  }
  return list;
}

/// The search's own figures; the process adds its time and memory.
Json figures(const Lowered& lowered, const Solution& solution) {
  Json row;
  row["problem"] = solution.problem;
  row["problem_sha256"] = solution.problem_sha256;
  row["layout"] = lowered.layout;
  row["ops"] = lowered.problem.ops.size();
  row["status"] = to_string(solution.status);
  if (solution.schedule) {
    row["initiation_interval"] = solution.schedule->initiation_interval;
    row["length"] = solution.schedule->length;
    row["stages"] = stage_count(*solution.schedule);
  }
  row["lower_bound"] = {{"initiation_interval", solution.ii_lower_bound},
                        {"length", solution.length_lower_bound}};
  row["bounds"] = bounds_of(lowered.problem);
  row["variables"] = solution.variables;
  row["clauses"] = solution.clauses;
  row["conflicts"] = solution.conflicts;
  row["stopped_by"] = cut_short(solution.stop) ? to_string(solution.stop) : "";
  return row;
}

int run(const RowFlags& flags) {
  const Options options = flags.search.options();
  const auto begin = std::chrono::steady_clock::now();
  const cli::Workload work = flags.search.load(flags.work);
  if (work.problems.size() > 1) {
    std::vector<std::string> layouts;
    for (const Lowered& lowered : work.problems) layouts.push_back(lowered.layout);
    throw InputError("command line", "--layout", "nothing",
                     "a row is one layout: one of " + cli::joined(layouts));
  }
  const std::chrono::duration<double> loading = std::chrono::steady_clock::now() - begin;
  const Lowered& lowered = work.problems.front();
  cli::Interrupt interrupt;
  const CpuWatch watch(flags.cpu_limit, interrupt.token());
  CurveListener curve;
  const std::clock_t started = std::clock();
  Solution solution = solve(lowered.problem, options, watch.token(),
                            [&](const Progress& progress) { curve(progress); });
  const double cpu = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
  solution.problem_sha256 = work.hashes.front();
  if (solution.schedule) {
    if (const auto violation = verify(lowered.problem, *solution.schedule)) {
      throw std::logic_error("the schedule found breaks " + violation->rule + ": " +
                             violation->text);
    }
  }
  Json row = figures(lowered, solution);
  if (flags.curve) {
    curve.end(solution);
    row["curve"] = to_json(curve.points());
  }
  row["load_seconds"] = loading.count();
  row["solve_seconds"] = solution.seconds;
  row["solve_cpu_seconds"] = cpu;
  std::cout << row.dump() << "\n";
  if (solution.status == Status::optimal) return cli::kDone;
  return solution.status == Status::infeasible ? cli::kNo : cli::kStopped;
}

}  // namespace

cli::Command row_command(CLI::App& bench) {
  auto flags = std::make_shared<RowFlags>();
  CLI::App* app = bench.add_subcommand("row", "Solve one problem, print its figures as JSON");
  flags->work.add_to(*app);
  flags->search.add_to(*app);
  app->add_option("--cpu-limit", flags->cpu_limit, "CPU seconds of this process; 0 = none")
      ->check(CLI::Range(0.0, 1e7));
  app->add_flag("--curve", flags->curve,
                "Also what was proved and found after how many CPU seconds: [seconds, bound of I, "
                "I, bound of L, L] each");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
