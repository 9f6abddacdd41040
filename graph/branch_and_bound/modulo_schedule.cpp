// Exact modulo scheduling by branch and bound over orders: over difference constraints.
//
// A node is a set of constraints M(v) - M(u) >= w: the dependences, a deadline L, and the decisions
// so far, kept closed under longest paths. Its earliest starts E are the least solution, so when E
// meets rule 2 it is also the shortest schedule of the node. Otherwise:
// - Pairs. For two ops on a common unit, M(v) - M(u) must have an allowed residue (residues.hpp).
//   Each bound on a difference is rounded up to the next allowed value, to a fixed point. When E
//   itself has a forbidden difference D, between the allowed values `below` and `above`, a schedule
//   has M(v) - M(u) <= below or >= above: two branches.
// - Copies. On a unit with several instances more than two ops may collide. A minimal set of copies
//   (segments of ops, each in some iteration) that overflow the unit at one instant of E cannot all
//   overlap in pairs in a valid schedule (intervals that meet in pairs have a common instant), and
//   two copies of the same op keep their distance. So for some ordered pair of copies of different
//   ops the first ends before the second begins: one branch each.
// Every branch raises E, and starts are bounded by the deadline, so the search ends.
// - Energy. The segments of a unit that must lie in a window of at most I cycles, by their earliest
//   and latest starts, cannot ask for more than capacity x window (Carlier, EJOR 1982, for one
//   machine): the cycles of the window have different residues. Such nodes are cut off.
//
// A query asks for a schedule of length <= L. Its tree is cut near the root into a fixed list of
// subtrees, searched in parallel; the subtree with the smallest index that holds a schedule wins,
// and its first schedule in depth-first order is the answer, whatever the number of threads. The
// deadline rises from the dependence bound in doubling steps until a query succeeds, then the
// length is bisected. modulo_stage_bound() stages are enough, which bounds the last deadline.
//
// What all nodes share: modulo_instance.cpp; bounds and energy of a node: modulo_node.cpp; its
// branches: modulo_branches.cpp; the parallel search of the tree: modulo_query.cpp.
#include "graph/branch_and_bound/modulo_schedule.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <numeric>

#include "graph/accepted.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/branch_and_bound/modulo_query.hpp"
#include "graph/log.hpp"
#include "graph/loop.hpp"
#include "graph/schedule.hpp"

namespace twill {
namespace {

using modulo::Answer;
using modulo::Instance;
using modulo::Outcome;
using modulo::Query;

/// The ops that use no unit follow the others: least solution of the dependences above them.
std::vector<Cycle> complete(const Instance& instance, const std::vector<Cycle>& fixed) {
  const Problem& problem = instance.problem();
  std::vector<Cycle> start = *earliest_starts(problem, instance.ii());
  for (int x = 0; x < instance.size(); ++x) {
    const std::vector<Cycle> from = longest_paths_from(problem, instance.op(x), instance.ii());
    for (std::size_t v = 0; v < start.size(); ++v)
      if (from[v] != kUnreachable) start[v] = std::max(start[v], fixed[at(x)] + from[v]);
  }
  return start;
}

Cycle longest_op(const Problem& problem) {
  Cycle longest = 0;
  for (const Op& op : problem.ops) longest = std::max(longest, op.cycles);
  return longest;
}

}  // namespace

ModuloSchedule optimal_modulo_schedule(const Problem& problem, Cycle ii,
                                       const ModuloScheduleOptions& options) {
  assert(ii >= 1 && consistent(problem));
  ModuloSchedule result;
  result.initiation_interval = ii;
  result.proved = true;
  const Instance instance(problem, ii);
  if (!instance.feasible()) return result;
  std::atomic<std::int64_t> nodes = 0;
  const auto query = [&](Cycle deadline) {
    TWILL_LOG("branch and bound: I = ", ii, ", D = ", deadline, ", ", nodes.load(),
              " nodes so far");
    const Answer answer = Query(instance, deadline, options, nodes).run();
    if (answer.outcome == Outcome::found) {
      result.start = complete(instance, answer.start);
      result.length = schedule_length(problem, *result.start);
    }
    return answer.outcome;
  };
  // Lengths below `lower` are refuted; [tried_from, length) is still of interest, and differs from
  // `lower` once a query was stopped.
  Cycle lower = instance.shortest(), from = lower, step = 0;
  // Starts below stages * I are enough, hence lengths up to this one.
  const Cycle last =
      std::max(lower, modulo_stage_bound(problem, ii) * ii - 1 + longest_op(problem));
  const auto attempt = [&](Cycle deadline) {
    const Outcome outcome = query(deadline);
    if (outcome == Outcome::found) return;
    if (outcome == Outcome::refuted) lower = std::max(lower, deadline + 1);
    from = deadline + 1;
  };
  while (!result.start && from <= last && !options.stop.stop_requested()) {
    attempt(std::min(last, from + step));
    step = 2 * step + 1;
  }
  while (result.start && from < result.length && !options.stop.stop_requested())
    attempt(from + (result.length - 1 - from) / 2);
  result.nodes = nodes;
  result.proved = result.start ? lower >= result.length : lower > last;
  result.length_lower_bound = result.start ? std::min(lower, result.length) : lower;
  return result;
}

ModuloSchedule smallest_modulo_schedule(const Problem& problem,
                                        const ModuloScheduleOptions& options) {
  // With I = the sum of max(cycles, delays) the ops can run one after the other in a topological
  // order: every dependence holds, carried ones because all starts lie within one I, and no two
  // reservations meet. So only an op at odds with itself at that I can prevent every schedule.
  std::vector<Cycle> span;
  for (const Op& op : problem.ops) span.push_back(op.cycles);
  for (const Edge& edge : problem.edges)
    span[at(edge.from)] = std::max(span[at(edge.from)], edge.delay);
  const Cycle serial = std::max<Cycle>(1, std::accumulate(span.begin(), span.end(), Cycle{0}));
  Cycle ii = 1;
  for (const Bound& bound : res_mii(problem)) ii = std::max(ii, bound.value);
  if (const auto bound = rec_mii(problem, false)) ii = std::max(ii, bound->value);

  ModuloSchedule result;
  bool proved = true;
  std::int64_t nodes = 0;
  Cycle lower = ii;
  for (; ii <= serial && !options.stop.stop_requested(); ++ii) {
    result = optimal_modulo_schedule(problem, ii, options);
    nodes += result.nodes;
    if (result.start) break;
    proved = proved && result.proved;
    if (proved) lower = ii + 1;
  }
  result.ii_lower_bound = lower;
  result.nodes = nodes;
  result.proved = proved && (result.start ? result.proved : lower > serial);
  return result;
}

}  // namespace twill
