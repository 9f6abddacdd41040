#include "engine/paper/modulo_length.hpp"

#include <algorithm>

#include "graph/bounds/stage_bound.hpp"
#include "graph/branch_and_bound/modulo_schedule.hpp"

namespace twill {
namespace {

constexpr std::int64_t kNodes = 20'000;  // branch and bound nodes before the solver takes over

// The loop under rules 1 and 2 alone: one slot that holds everything, no liveness, no waits.
Problem without_warps(const Problem& problem) {
  Problem p = problem;
  p.memories.clear();
  p.pins.clear();
  p.warps = {{"any", 1, 0, false}};
  for (Op& op : p.ops) {
    op.registers = op.spill = 0;
    op.footprints.clear();
    op.width = 1;
    op.variable_latency = op.streaming = op.in_flight = false;
  }
  for (Edge& e : p.edges) {
    e.blocking = false;
    e.hold = 0;
  }
  return p;
}

}  // namespace

LengthResult modulo_length(const Search& search, const Options& options, Cycle ii) {
  ModuloScheduleOptions limits;
  limits.threads = options.threads;
  limits.node_limit = kNodes;
  limits.stop = search.budget.stop_token();
  const ModuloSchedule found = optimal_modulo_schedule(search.problem, ii, limits);
  LengthResult result{Verdict::unsat, std::nullopt, found.length_lower_bound};
  if (found.start)
    result.best =
        Schedule{ii, found.length, *found.start, std::vector<int>(search.problem.ops.size(), 0)};
  if (found.proved) {
    if (result.best) result.verdict = Verdict::sat;
    return result;
  }
  const Problem bare = without_warps(search.problem);
  Search bare_search = search.on(bare);
  bare_search.stage_limit = 0;
  Cycle longest = 1;
  for (const Op& op : bare.ops) longest = std::max(longest, op.cycles);
  // A schedule within the sufficient stages ends before the last of them does, or an op later.
  const Cycle high =
      result.best ? found.length - 1 : modulo_stage_bound(bare, ii) * ii - 1 + longest;
  LengthResult rest =
      search.engine.shortest_within(bare_search, ii, found.length_lower_bound, high, {});
  if (rest.verdict == Verdict::unsat && result.best) {
    result.verdict = Verdict::sat;  // nothing shorter than what the branch and bound has
    result.low = found.length;
    return result;
  }
  return rest;
}

}  // namespace twill
