#include "engine/cli/run_time.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "engine/cli/cli.hpp"
#include "engine/output/style.hpp"
#include "engine/output/trace.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/index.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/program/time.hpp"

namespace twill::cli {
namespace {

using Json = nlohmann::ordered_json;
using program::Clock;
using program::TimedRun;
using program::UnitOrder;

constexpr int kMostRuns = 100'000;
constexpr double kMostExecutions = 1e8;  // of ops, in all runs: some minutes
constexpr std::size_t kShownWaits = 5;

struct Order {
  const char* name;
  UnitOrder order;
};
constexpr Order kOrders[] = {{"schedule", UnitOrder::schedules}, {"arrival", UnitOrder::arrival}};

struct Measured {
  const char* order = "";
  TimedRun run;
  std::optional<program::Steady> steady;
  std::vector<double> varied;  ///< clocks an iteration, ascending; empty = none was asked
};

std::string shown(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

double mean(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

/// The first issue of an iteration.
Cycle begin_of(const program::Program& program, const TimedRun& run, int iteration) {
  Cycle first = run.end[at(iteration)];
  for (std::size_t k = 0; k < program.ops.size(); ++k)
    first = std::min(first, run.start[k * at(run.iterations) + at(iteration)]);
  return first;
}

/// Waits at which slots stand longest, cycles an iteration.
std::vector<std::pair<int, double>> longest(const TimedRun& run) {
  std::vector<std::pair<int, double>> all;
  for (std::size_t w = 0; w < run.stood.size(); ++w)
    if (run.stood[w] > 0)
      all.emplace_back(static_cast<int>(w),
                       static_cast<double>(run.stood[w]) / std::max(run.iterations, 1));
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}

std::string clocks_text(const program::Steady& steady) {
  if (steady.every == 1) return std::to_string(steady.clocks);
  return std::to_string(steady.clocks) + "/" + std::to_string(steady.every) + " = " +
         shown(static_cast<double>(steady.clocks) / steady.every);
}

/// Beside I: why faster, by how much slower.
std::string beside(const MadeProgram& made, const program::Steady& steady) {
  const Cycle ii = made.program.initiation_interval, all = ii * steady.every;
  if (steady.clocks == all) return "exactly I";
  if (steady.clocks > all)
    return shown(static_cast<double>(steady.clocks) / steady.every - static_cast<double>(ii)) +
           " more than I: the schedule's order on units that slots share is not kept";
  if (least_by_channels(made.problem) == ii)
    return "less than I, which a channel bounds: no op stands at a channel here";
  if (made.solution.status != Status::optimal) return "less than I, which is not proved the least";
  return "less than I, in which each wait has a cycle of its own";
}

void print_text(const MadeProgram& made, const TimeFlags& flags, const std::vector<Measured>& all,
                bool turns) {
  const program::Program& p = made.program;
  const Cycle ii = p.initiation_interval;
  std::cout << "time of " << printable(p.problem) << ": n = " << flags.iterations << ", I = " << ii
            << ", in cycles of the problem\nops, delays and hand-overs (spill) cost what the "
               "problem says";
  if (flags.costs.wait == 0 && flags.costs.arrive == 0)
    std::cout << "; of waits and arrivals at barriers nothing is known: 0\n"
                 "(--wait-cost, --arrive-cost)\n";
  else
    std::cout << "; a wait on a barrier costs " << flags.costs.wait << ", an arrival "
              << flags.costs.arrive << "\n";
  std::cout << "by the schedule n iterations take at most "
            << std::max(flags.iterations - 1, 0) * ii + made.solution.schedule->length << "\n";
  for (const Measured& one : all) {
    std::cout << "units in the order of "
              << (std::string(one.order) == "schedule" ? "the schedule"
                  : turns                              ? "arrival, with turns"
                                                       : "arrival (no turns)")
              << "\n";
    if (one.steady)
      std::cout << "  steady from iteration " << one.steady->from << " on, which begins at "
                << begin_of(p, one.run, one.steady->from) << ": " << clocks_text(*one.steady)
                << " clocks an iteration, "
                << (flags.costs.wait + flags.costs.arrive == 0 ? beside(made, *one.steady)
                                                               : "I = " + std::to_string(ii))
                << "\n";
    else
      std::cout << "  no period in so many iterations\n";
    if (flags.iterations > 0)
      std::cout << "  iteration 0 ends at " << one.run.end.front() << ", all n at " << one.run.total
                << "\n";
    const auto waits = longest(one.run);
    for (std::size_t k = 0; k < std::min(kShownWaits, waits.size()); ++k) {
      const program::Wait& wait = p.waits[at(waits[k].first)];
      std::cout << "  " << printable(p.slots[at(p.ops[at(wait.before)].slot)].name) << " stands "
                << shown(waits[k].second) << " an iteration before "
                << printable(p.ops[at(wait.before)].id) << " for "
                << printable(p.ops[at(p.events[at(wait.event)].op)].id) << " ("
                << program::to_string(wait.need) << ")\n";
    }
    if (waits.size() > kShownWaits)
      std::cout << "  and less at "
                << plural(static_cast<int>(waits.size() - kShownWaits), "other wait") << "\n";
    if (one.varied.empty()) continue;
    std::cout << "  costs varied, " << plural(flags.variation.runs, "run") << " of seed "
              << flags.variation.seed << ", every " << flags.vary << " x "
              << shown(1 - flags.variation.spread / 100.0) << " to "
              << shown(1 + flags.variation.spread / 100.0);
    if (flags.variation.load_spread != flags.variation.spread)
      std::cout << ", loads x " << shown(std::max(0.0, 1 - flags.variation.load_spread / 100.0))
                << " to " << shown(1 + flags.variation.load_spread / 100.0);
    std::cout << ":\n  " << shown(mean(one.varied)) << " clocks an iteration in mean, 95 % of runs "
              << shown(program::quantile(one.varied, 0.95)) << " or less, 99 % "
              << shown(program::quantile(one.varied, 0.99)) << ", all " << shown(one.varied.back())
              << "\n";
  }
}

void print_json(const MadeProgram& made, const TimeFlags& flags, const std::vector<Measured>& all) {
  const program::Program& p = made.program;
  Json answer = {{"format", "twill.time"},
                 {"version", 1},
                 {"problem", p.problem},
                 {"initiation_interval", p.initiation_interval},
                 {"length", made.solution.schedule->length},
                 {"iterations", flags.iterations},
                 {"wait_cost", flags.costs.wait},
                 {"arrive_cost", flags.costs.arrive},
                 {"orders", Json::array()}};
  for (const Measured& one : all) {
    Json order = {{"units", one.order},
                  {"first", one.run.end.empty() ? 0 : one.run.end.front()},
                  {"total", one.run.total}};
    if (one.steady)
      order["steady"] = {{"from", one.steady->from},
                         {"begins", begin_of(p, one.run, one.steady->from)},
                         {"clocks", one.steady->clocks},
                         {"iterations", one.steady->every}};
    order["waits"] = Json::array();
    for (const auto& [w, stood] : longest(one.run)) {
      const program::Wait& wait = p.waits[at(w)];
      order["waits"].push_back({{"before", p.ops[at(wait.before)].id},
                                {"for", p.ops[at(p.events[at(wait.event)].op)].id},
                                {"offset", wait.offset},
                                {"need", program::to_string(wait.need)},
                                {"stood", one.run.stood[at(w)]}});
    }
    if (!one.varied.empty())
      order["varied"] = {{"runs", flags.variation.runs},
                         {"seed", flags.variation.seed},
                         {"spread", flags.variation.spread},
                         {"load_spread", flags.variation.load_spread},
                         {"every", flags.vary},
                         {"mean", mean(one.varied)},
                         {"share_95", program::quantile(one.varied, 0.95)},
                         {"share_99", program::quantile(one.varied, 0.99)},
                         {"largest", one.varied.back()}};
    answer["orders"].push_back(std::move(order));
  }
  std::cout << answer.dump(2) << "\n";
}

std::string trace_text(const MadeProgram& made, const TimedRun& run) {
  const Problem& problem = made.problem;
  std::vector<TraceBar> on_units, on_slots;
  const Cycle most = traced_iterations(problem, std::max(run.iterations, 1));
  for (std::size_t k = 0; k < made.program.ops.size(); ++k)
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
      const Op& op = problem.ops[at(v)];
      if (op.id != made.program.ops[k].id) continue;
      for (int i = 0; i < std::min<Cycle>(run.iterations, most); ++i) {
        const std::size_t x = k * at(run.iterations) + at(i);
        on_slots.push_back(
            {made.program.ops[k].slot, run.start[x], op.cycles + run.late[x], v, i, 1});
        for (const Reservation& r : op.reservations)
          on_units.push_back(
              {r.unit, run.start[x] + run.late[x] + r.offset, r.length, v, i, r.amount});
      }
    }
  return trace_of(problem, *made.solution.schedule, std::move(on_units), std::move(on_slots));
}

}  // namespace

void TimeFlags::add_to(CLI::App& app) {
  constexpr const char* kGroup = "In time";
  app.add_flag("--time", on, "Replay the program in time: what does it take beside I?")
      ->group(kGroup);
  const auto needs = [&](CLI::Option* option) {
    return option->group(kGroup)->needs("--time")->capture_default_str();
  };
  needs(app.add_option("--wait-cost", costs.wait, "Cycles that a wait on a barrier holds its slot"))
      ->check(CLI::Range(0, 1'000'000));
  needs(app.add_option("--arrive-cost", costs.arrive,
                       "Cycles from the end of an op to where a wait sees it"))
      ->check(CLI::Range(0, 1'000'000));
  needs(app.add_option("--runs", variation.runs, "With varied costs; 0 = none"))
      ->check(CLI::Range(0, kMostRuns));
  needs(app.add_option("--spread", variation.spread, "Costs vary by so many percent"))
      ->check(CLI::Range(0, 100));
  CLI::Option* loads = app.add_option("--load-spread", variation.load_spread,
                                      "Those of loads (variable latency); without it as all others")
                           ->check(CLI::Range(0, 1'000))
                           ->group(kGroup)
                           ->needs("--time");
  loads->each([this](const std::string&) { load_spread_given = true; });
  needs(app.add_option("--vary", vary,
                       "What is drawn by itself: every execution, or every op once a run"))
      ->check(CLI::IsMember({"execution", "op"}));
  needs(app.add_option("--trace-order", trace_order, "Order on shared units of --trace"))
      ->check(CLI::IsMember({"arrival", "schedule"}));
  app.add_option("--trace", trace, "Write what happens when, for chrome://tracing and Perfetto")
      ->group(kGroup)
      ->needs("--time");
}

int run_time(const MakeFlags& make, TimeFlags flags, bool json) {
  const std::string bytes = is_file(make.work.input) ? read_file(make.work.input) : "";
  if (make.work.input != "-" && json_format(bytes) == "twill.program")
    throw InputError("command line", "PROGRAM", quote(make.work.input),
                     "a program file has no costs: name what it was made of, and its schedule");
  auto result = make_program(make);
  if (const int* code = std::get_if<int>(&result)) return *code;
  const MadeProgram& made = std::get<MadeProgram>(result);
  program::Variation& variation = flags.variation;
  if (!flags.load_spread_given) variation.load_spread = variation.spread;
  variation.every_execution = flags.vary == "execution";
  variation.seed = make.search.options().seed;
  // Fewer have no middle.
  if (flags.iterations < 4) variation.runs = 0;
  const double executions = static_cast<double>(variation.runs + 1) * flags.iterations *
                            static_cast<double>(made.program.ops.size());
  if (executions > kMostExecutions)
    throw InputError("command line", "--runs", std::to_string(variation.runs),
                     "with so many iterations of " + std::to_string(made.program.ops.size()) +
                         " ops these are more than 100000000 executions");
  std::vector<Measured> all;
  for (const Order& order : kOrders) {
    const Clock clock(made.program, made.problem, *made.solution.schedule, flags.iterations,
                      order.order);
    Measured one{order.name, clock.run(flags.costs), {}, {}};
    one.steady = program::steady_state(one.run, program::stage_count(made.program));
    if (variation.runs > 0)
      one.varied =
          program::varied_clocks(clock, made.program, made.problem, flags.costs, variation);
    if (!flags.trace.empty() && flags.trace_order == order.name)
      write_file(flags.trace, trace_text(made, one.run));
    all.push_back(std::move(one));
  }
  if (json)
    print_json(made, flags, all);
  else
    print_text(made, flags, all, make.turns || make.all_turns);
  return kDone;
}

}  // namespace twill::cli
