// The whole time, counted a second time: step by step the worst interval of each.
#include <algorithm>

#include "engine/certificate/counting.hpp"
#include "engine/certificate/forced.hpp"
#include "graph/index.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

// The longest L at `ii` that would be better.
Wide most_better(const TimeUse& use, Cycle ii) {
  Wide most = Wide{use.time} - Wide{use.iterations - 1} * ii;
  if (ii >= use.ii) most -= 1;
  return most;
}

// Is the L that is needed at least at any I, by dependences within an iteration, at least `least`?
bool path_is_as_long(Problem problem, Cycle least) {
  const Forced whole(problem);  // of all edges: which hand-overs are forced
  Forced within = whole;
  within.delay.clear();
  std::vector<Edge> edges;
  for (std::size_t e = 0; e < problem.edges.size(); ++e)
    if (problem.edges[e].distance == 0) {
      edges.push_back(problem.edges[e]);
      within.delay.push_back(whole.delay[e]);
    }
  problem.edges = std::move(edges);
  const auto tails = remaining(problem, within, 1);
  return tails &&
         std::any_of(tails->begin(), tails->end(), [&](Wide tail) { return tail >= least; });
}

// From one end of what an op reaches to the other, at most.
Wide reach(const Problem& problem) {
  Wide longest = 1;
  for (const Op& op : problem.ops) longest = std::max<Wide>(longest, op.cycles);
  for (const Edge& e : problem.edges) {
    longest = std::max(longest, Wide{e.delay} + spill_of(problem, e));
    longest = std::max<Wide>(longest, e.hold);
  }
  for (const int u : charged_loads(problem))
    for (const BufferUse& use : buffer_uses(problem, u))
      longest = std::max<Wide>(longest, use.cycles);
  return longest;
}

bool one_segment_each(const Problem& problem) {
  for (const Op& op : problem.ops) {
    std::vector<int> units;
    for (const Reservation& r : op.reservations) {
      if (r.offset != 0 || std::find(units.begin(), units.end(), r.unit) != units.end())
        return false;
      units.push_back(r.unit);
    }
  }
  return true;
}

// Does a better schedule at step.first, stretched by idle cycles to step.at, have a length that the
// step excludes? The smallest I is stretched most, and its better schedules are the longest.
bool stretches(const Problem& problem, const TimeUse& use, const TimeUse::Step& step) {
  if (step.first >= step.at)
    return !step.deadline || most_better(use, step.first) <= *step.deadline;
  if (!one_segment_each(problem)) return false;
  for (const Pin& pin : problem.pins)
    if (pin.kind == Pin::at_cycle && pin.cycle > 0 && step.first <= pin.cycle) return false;
  if (!step.deadline) return true;
  const Wide longest = std::max<Wide>(0, most_better(use, step.first));
  Wide periods = longest / step.first;
  if (use.stage_limit > 0) periods = std::min<Wide>(periods, use.stage_limit - 1);
  return longest + periods * (step.at - step.first) <= *step.deadline;
}

}  // namespace

bool time_counted_out(const Problem& problem, const TimeUse& use) {
  if (use.least_at == 0 && !path_is_as_long(problem, use.least)) return false;
  if (use.least_at > 0 && use.least_at < use.least + reach(problem)) return false;
  Cycle open = use.low;  // the smallest I that is not excluded
  for (const TimeUse::Step& step : use.steps) {
    if (step.first > open) return false;
    const bool forever = step.last == TimeUse::kForever;
    if (step.first < 1 || !stretches(problem, use, step) || (!forever && step.last > step.at))
      return false;
    // Of no use to a larger I but where iterations do not meet.
    if (forever) return step.at > most_better(use, step.first) + reach(problem);
    open = std::max(open, step.last + 1);
  }
  return open >= use.ii && Wide{use.iterations - 1} * open + use.least >= use.time;
}

}  // namespace twill
