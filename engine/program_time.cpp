// A program replayed in time, for callers of the library: both orders of its units, with varied
// costs, as JSON and as a trace.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/include/twill_program.hpp"
#include "engine/output/trace.hpp"
#include "graph/index.hpp"
#include "graph/program/contended_time.hpp"

namespace twill::program {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostExecutions = 1e8;  // of ops, in all runs: some minutes
constexpr Cycle kMostCost = 1'000'000;
constexpr int kMostRuns = 100'000;

double mean(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

void check_range(const char* what, std::int64_t value, std::int64_t most) {
  if (value < 0 || value > most)
    throw InputError("options", what, std::to_string(value),
                     "must be from 0 to " + std::to_string(most));
}

void check_question(const Program& program, const TimeQuestion& question) {
  const Variation& variation = question.variation;
  check_range("wait cost", question.costs.wait, kMostCost);
  check_range("arrive cost", question.costs.arrive, kMostCost);
  check_range("iterations", question.iterations, static_cast<int>(kMostExecutions));
  check_range("runs", variation.runs, kMostRuns);
  check_range("spread", variation.spread, 100);
  check_range("load spread", variation.load_spread, 1'000);
  const double executions = static_cast<double>(variation.runs + 1) * question.iterations *
                            static_cast<double>(program.ops.size());
  if (executions > kMostExecutions)
    throw InputError("options", "runs", std::to_string(variation.runs),
                     "with so many iterations of " + std::to_string(program.ops.size()) +
                         " ops these are more than 100000000 executions");
}

}  // namespace

Cycle begin_of(const Program& program, const TimedRun& run, int iteration) {
  Cycle first = run.end[at(iteration)];
  for (std::size_t k = 0; k < program.ops.size(); ++k)
    first = std::min(first, run.start[k * at(run.iterations) + at(iteration)]);
  return first;
}

std::vector<std::pair<int, double>> longest_waits(const TimedRun& run) {
  std::vector<std::pair<int, double>> all;
  for (std::size_t w = 0; w < run.stood.size(); ++w)
    if (run.stood[w] > 0)
      all.emplace_back(static_cast<int>(w),
                       static_cast<double>(run.stood[w]) / std::max(run.iterations, 1));
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}

std::vector<TimedOrder> time_program(const Program& program, const Problem& problem,
                                     const Schedule& schedule, const TimeQuestion& question) {
  TimeQuestion asked = question;
  if (asked.iterations < 4) asked.variation.runs = 0;  // fewer have no middle
  check_question(program, asked);
  if (!asked.contention.empty() && !can_be_contended(problem, asked.iterations))
    throw InputError("options", "iterations", std::to_string(asked.iterations),
                     "with ops of so many cycles these are too many for units that slow each other "
                     "down (contention)");
  std::vector<TimedOrder> all;
  for (const UnitOrder order : {UnitOrder::schedules, UnitOrder::arrival}) {
    const Clock clock(program, problem, schedule, asked.iterations, order);
    TimedOrder one{order, run_in_time(clock, asked.costs, asked.contention), {}, 0, {}};
    one.steady = steady_state(one.run, stage_count(program));
    if (asked.iterations >= 4) one.middle = middle_clocks(one.run);
    if (asked.variation.runs > 0)
      one.varied =
          varied_clocks(clock, program, problem, asked.costs, asked.contention, asked.variation);
    all.push_back(std::move(one));
  }
  return all;
}

std::string time_json(const Program& p, const Problem& problem, const Schedule& schedule,
                      const TimeQuestion& question, const std::vector<TimedOrder>& orders) {
  const Variation& variation = question.variation;
  Json answer = {{"format", "twill.time"},
                 {"version", 1},
                 {"problem", p.problem},
                 {"initiation_interval", p.initiation_interval},
                 {"length", schedule.length},
                 {"iterations", question.iterations},
                 {"wait_cost", question.costs.wait},
                 {"arrive_cost", question.costs.arrive}};
  for (const Slowdown& s : question.contention)
    answer["contention"].push_back({{"unit", problem.units[at(s.unit)].name},
                                    {"while", problem.units[at(s.by)].name},
                                    {"thousandths", s.thousandths}});
  answer["orders"] = Json::array();
  for (const TimedOrder& one : orders) {
    Json order = {{"units", one.order == UnitOrder::schedules ? "schedule" : "arrival"},
                  {"first", one.run.end.empty() ? 0 : one.run.end.front()},
                  {"total", one.run.total}};
    if (one.steady)
      order["steady"] = {{"from", one.steady->from},
                         {"begins", begin_of(p, one.run, one.steady->from)},
                         {"clocks", one.steady->clocks},
                         {"iterations", one.steady->every}};
    if (one.middle > 0) order["middle"] = one.middle;
    order["waits"] = Json::array();
    for (const auto& [w, stood] : longest_waits(one.run)) {
      const Wait& wait = p.waits[at(w)];
      order["waits"].push_back({{"before", p.ops[at(wait.before)].id},
                                {"for", p.ops[at(p.events[at(wait.event)].op)].id},
                                {"offset", wait.offset},
                                {"need", to_string(wait.need)},
                                {"stood", one.run.stood[at(w)]}});
    }
    if (!one.varied.empty())
      order["varied"] = {{"runs", variation.runs},
                         {"seed", variation.seed},
                         {"spread", variation.spread},
                         {"load_spread", variation.load_spread},
                         {"every", variation.every_execution ? "execution" : "op"},
                         {"mean", mean(one.varied)},
                         {"share_95", quantile(one.varied, 0.95)},
                         {"share_99", quantile(one.varied, 0.99)},
                         {"largest", one.varied.back()}};
    answer["orders"].push_back(std::move(order));
  }
  return answer.dump(2) + "\n";
}

std::string time_trace(const Program& program, const Problem& problem, const Solution& solution,
                       const TimedRun& run) {
  std::vector<TraceBar> on_units, on_slots;
  const Cycle most = traced_iterations(problem, std::max(run.iterations, 1));
  for (std::size_t k = 0; k < program.ops.size(); ++k)
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
      const twill::Op& op = problem.ops[at(v)];
      if (op.id != program.ops[k].id) continue;
      for (int i = 0; i < std::min<Cycle>(run.iterations, most); ++i) {
        const std::size_t x = k * at(run.iterations) + at(i);
        // What is slowed down is so on its units: each segment is drawn longer by all of it.
        const Cycle slowed = run.slowed.empty() ? 0 : run.slowed[x];
        on_slots.push_back(
            {program.ops[k].slot, run.start[x], op.cycles + run.late[x] + slowed, v, i, 1});
        for (const Reservation& r : op.reservations)
          on_units.push_back(
              {r.unit, run.start[x] + run.late[x] + r.offset, r.length + slowed, v, i, r.amount});
      }
    }
  return trace_of(problem, solution, std::move(on_units), std::move(on_slots));
}

}  // namespace twill::program
