#include "engine/cli/run_time.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "engine/cli/cli.hpp"
#include "engine/output/style.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/index.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/program/time.hpp"

namespace twill::cli {
namespace {

using program::TimedOrder;
using program::UnitOrder;

constexpr int kMostRuns = 100'000;
constexpr std::size_t kShownWaits = 5;

std::string shown(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

double mean(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
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

/// Such as "ALU x 1.39 and SFU x 1.2 beside TC".
std::string contention_text(const Problem& problem, const Contention& contention) {
  std::string text;
  for (std::size_t k = 0; k < contention.size(); ++k) {
    const Slowdown& s = contention[k];
    char factor[40];
    std::snprintf(factor, sizeof factor, "%g", s.thousandths / 1000.0);
    const bool last = k + 1 == contention.size() || contention[k + 1].by != s.by;
    text += printable(problem.units[at(s.unit)].name) + " x " + factor +
            (last ? " beside " + printable(problem.units[at(s.by)].name) : "") +
            (k + 1 == contention.size() ? "" : ", ");
  }
  return text;
}

void print_text(const MadeProgram& made, const TimeFlags& flags,
                const program::TimeQuestion& question, const std::vector<TimedOrder>& all,
                bool turns) {
  const BarrierCosts& costs = question.costs;
  const program::Program& p = made.program;
  const Cycle ii = p.initiation_interval;
  std::cout << "time of " << printable(p.problem) << ": n = " << flags.iterations << ", I = " << ii
            << ", in cycles of the problem\nops, delays and hand-overs (spill) cost what the "
               "problem says";
  if (!made.barriers && !flags.wait_cost && !flags.arrive_cost)
    std::cout << "; of waits and arrivals at barriers nothing is known: 0\n"
                 "(--wait-cost, --arrive-cost)\n";
  else
    std::cout << "; a wait on a barrier costs " << costs.wait << ", an arrival " << costs.arrive
              << (made.barriers && !(flags.wait_cost && flags.arrive_cost)
                      ? " (the machine's: --wait-cost, --arrive-cost)"
                      : "")
              << "\n";
  if (!question.contention.empty())
    std::cout << "units slow each other down (the machine's: --no-contention):\n"
              << contention_text(made.problem, question.contention) << "\n";
  std::cout << "by the schedule n iterations take at most "
            << std::max(flags.iterations - 1, 0) * ii + made.solution.schedule->length << "\n";
  for (const TimedOrder& one : all) {
    std::cout << "units in the order of "
              << (one.order == UnitOrder::schedules ? "the schedule"
                  : turns                           ? "arrival, with turns"
                                                    : "arrival (no turns)")
              << "\n";
    if (one.steady)
      std::cout << "  steady from iteration " << one.steady->from << " on, which begins at "
                << program::begin_of(p, one.run, one.steady->from) << ": "
                << clocks_text(*one.steady) << " clocks an iteration, "
                << (costs.wait + costs.arrive == 0 && question.contention.empty()
                        ? beside(made, *one.steady)
                        : "I = " + std::to_string(ii))
                << "\n";
    else
      std::cout << "  no period in so many iterations"
                << (one.middle > 0
                        ? "; " + shown(one.middle) +
                              " clocks an iteration in their middle half, I = " + std::to_string(ii)
                        : "")
                << "\n";
    if (flags.iterations > 0)
      std::cout << "  iteration 0 ends at " << one.run.end.front() << ", all n at " << one.run.total
                << "\n";
    const auto waits = program::longest_waits(one.run);
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

}  // namespace

void TimeFlags::add_to(CLI::App& app) {
  constexpr const char* kGroup = "In time";
  app.add_flag("--time", on, "Replay the program in time: what does it take beside I?")
      ->group(kGroup);
  const auto needs = [&](CLI::Option* option) {
    return option->group(kGroup)->needs("--time")->capture_default_str();
  };
  const auto cost = [&](const char* name, std::optional<Cycle>& value, const char* what) {
    app.add_option(name, value, std::string(what) + " (without it: the machine file's)")
        ->group(kGroup)
        ->needs("--time")
        ->check(CLI::Range(0, 1'000'000));
  };
  cost("--wait-cost", wait_cost, "Cycles that a wait on a barrier holds its slot");
  cost("--arrive-cost", arrive_cost, "Cycles from the end of an op to where a wait sees it");
  app.add_flag("--no-contention", no_contention,
               "Units do not slow each other down, whatever the machine file says")
      ->group(kGroup)
      ->needs("--time");
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
  const BarrierCosts known = made.barriers.value_or(BarrierCosts{});
  const BarrierCosts costs{flags.wait_cost.value_or(known.wait),
                           flags.arrive_cost.value_or(known.arrive)};
  const program::TimeQuestion question{
      flags.iterations, costs, flags.no_contention ? Contention{} : made.contention, variation};
  const std::vector<TimedOrder> all =
      program::time_program(made.program, made.problem, *made.solution.schedule, question);
  if (!flags.trace.empty())
    for (const TimedOrder& one : all)
      if ((one.order == UnitOrder::schedules) == (flags.trace_order == "schedule"))
        write_file(flags.trace,
                   program::time_trace(made.program, made.problem, made.solution, one.run));
  if (json)
    std::cout << program::time_json(made.program, made.problem, *made.solution.schedule, question,
                                    all);
  else
    print_text(made, flags, question, all, make.turns || make.all_turns);
  return kDone;
}

}  // namespace twill::cli
