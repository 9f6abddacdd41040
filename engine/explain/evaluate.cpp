// What binds in a given schedule: arithmetic on its steady state, no search.
#include "encoders/goals.hpp"
#include "engine/include/twill_explain.hpp"
#include "engine/output/steady_state.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

/// Can units, slots and memories be looked at, whatever rules the schedule breaks?
bool has_steady_state(const Problem& problem, const Schedule& schedule) {
  if (schedule.initiation_interval < 1 || schedule.start.size() != problem.ops.size() ||
      schedule.warp.size() != problem.ops.size())
    return false;
  const int slots = static_cast<int>(problem.warps.size());
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    if (schedule.start[v] < 0 || schedule.warp[v] < 0 || schedule.warp[v] >= slots) return false;
  return true;
}

Evaluation::Slot slot_use(const Problem& problem, const Schedule& schedule,
                          const SteadyState& state, std::size_t w) {
  Evaluation::Slot use;
  use.name = problem.warps[w].name;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    if (schedule.warp[v] != static_cast<int>(w)) continue;
    use.cycles += problem.ops[v].cycles;
    ++use.ops;
  }
  use.registers_peak = state.registers[w].peak;
  use.registers_free = problem.warps[w].registers - use.registers_peak;
  return use;
}

Evaluation::Memory memory_use(const Problem& problem, const SteadyState& state, std::size_t m) {
  const Pressure& pressure = state.memories[m];
  Evaluation::Memory use = {problem.memories[m].name, pressure.peak,
                            problem.memories[m].capacity - pressure.peak, std::nullopt};
  if (!problem.memories[m].rings) return use;
  use.rings.emplace();
  for (const ChargedRing& ring : pressure.rings)
    use.rings->push_back({problem.ops[at(ring.load)].id, ring.buffers, ring.each});
  return use;
}

}  // namespace

Evaluation evaluate(const Problem& problem, const Schedule& schedule) {
  Evaluation result;
  result.initiation_interval = schedule.initiation_interval;
  result.length = schedule.length;
  result.violations = verify_all(problem, schedule);
  for (const Bound& bound : lower_bounds(problem))
    result.bounds.push_back({bound.value, bound.name, bound.text});
  result.placed = result.accepted() || has_steady_state(problem, schedule);
  if (!result.placed) return result;
  const SteadyState state = steady_state(problem, schedule);
  for (std::size_t f = 0; f < problem.units.size(); ++f)
    result.units.push_back({problem.units[f].name, state.busy[f]});
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    result.slots.push_back(slot_use(problem, schedule, state, w));
  for (std::size_t m = 0; m < problem.memories.size(); ++m)
    result.memories.push_back(memory_use(problem, state, m));
  for (const ChannelUse& use : channel_uses(problem))
    result.channels.push_back({problem.channels[at(use.channel)].name,
                               channel_load(problem, use.channel, schedule.initiation_interval),
                               use.least, use.sum});
  if (!result.accepted()) return result;
  if (const auto critical = critical_recurrence(problem, schedule)) {
    result.critical_recurrence = {critical->ii, critical->cycles, critical->iterations, {}};
    for (const CriticalRecurrence::Step& step : critical->steps)
      result.critical_recurrence->steps.push_back(
          {problem.ops[at(step.from)].id, problem.ops[at(step.to)].id, step.cycles, step.reason});
  }
  return result;
}

ScheduleDifference schedule_difference(const Problem& problem, const Schedule& a,
                                       const Schedule& b) {
  ScheduleDifference result;
  result.numbers = {{"I", a.initiation_interval, b.initiation_interval},
                    {"L", a.length, b.length},
                    {"stages", stage_count(a), stage_count(b)}};
  std::vector<std::string> goals = kDefaultGoals;
  for (const Memory& memory : problem.memories) goals.push_back("memory:" + memory.name);
  for (const std::string& goal : goals) {
    const GoalMeasure measure = parse_goal(problem, goal);
    result.numbers.push_back(
        {goal, goal_value(problem, a, measure), goal_value(problem, b, measure)});
  }
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    if (a.start[v] != b.start[v] || a.warp[v] != b.warp[v])
      result.ops.push_back(static_cast<int>(v));
  return result;
}

}  // namespace twill
