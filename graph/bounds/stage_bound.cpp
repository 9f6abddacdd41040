// Proof that B(I) stages are enough.
//
// Let (M, A) be any valid schedule at I; write M(v) = r(v) + I * s(v) with the row r(v) in [0, I)
// and the stage s(v) >= 0. Keep A and every row, and look for smaller stages s'.
//
// 1. Capacity (2), slots (5) and concurrency (8) depend on rows and slots only: they stay true.
// 2. Dependence and spill (1, 7): with d' = d, or d + spill(u) when A(u) != A(v), an edge
//    e = (u, v, d, delta) asks s'(v) - s'(u) >= c(e) := ceil((d' + r(u) - r(v)) / I) - delta.
//    A self edge asks 0 >= c(e), true already.
// 3. Memory and registers (4, 6): u's copies live on a residue y are those k with
//    r(u) <= y + k * I < r(u) + life(u), counted over k >= 0 from u's issue, and
//    life(u) = max over edges of (M(v) + delta * I + hold) - M(u). With the rows fixed, the count
//    never grows when life(u) shrinks, and life(u) is non-decreasing in each s(v) - s(u), whatever
//    `hold` is. So it is enough that s'(v) - s'(u) <= s(v) - s(u) =: D(e) on every edge whose
//    source holds registers or memory. D(e) >= c(e), because s is valid.
//    A ring that a memory charges has the depth 1 + the largest over the uses v of its buffer, or
//    0, of s(v) - s(u) + iterations + floor((r(v) + cycles - r(u)) / I), u the load: it does not
//    grow when s(v) - s(u) does not. The edges from u to v lead over ops that hold the buffer, so
//    that it is enough if those count as holding memory, whether or not they do.
//
// The conditions of 2 and 3 are difference constraints, satisfied by s itself. Their least solution
// >= 0 exists therefore, is <= s componentwise (so no start moves later, and L does not grow), and
// s'(v) is the weight of a longest path to v in the graph with an arc u -> v of weight c(e) for
// every edge and an arc v -> u of weight -D(e) for every edge whose source holds something. There
// is no positive cycle (the system is feasible), so a longest path may be taken simple: it enters
// every op at most once, its first op not at all, and it stays in one weakly connected component.
// The weights are bounded without knowing the rows, up to a part that telescopes along a path:
//     c(e)  <= (d' + r(u) - r(v) + I - 1) / I - delta,                  d' <= d + spill(u),
//     -D(e) <= -c(e) <= delta - (d' + r(u) - r(v)) / I,                 d' >= d.
// In the first line the spill counts only where the edge can cross slots; in the second it may be
// added where the edge must cross. An arc a -> b thus weighs at most (r(a) - r(b) + t) / I with
//     t = d' + I - 1 - delta * I   from u to v,        t = delta * I - d'   from v to u,
// and on a path the rows cancel but for the first and the last, which differ by at most I - 1.
// Hence I * s'(v) <= I - 1 + the sum over the component of max(0, largest t of an arc into the op),
// less the smallest term. B(I) is 1 + the largest such sum of a component, over I, rounded down.
//
// Inner loops (rule 12) fix s'(v) - s'(u) = s(v) - s(u) = (c + r(u) - r(v)) / I, an arc each way: t
// is c from u to v, and -c back.
//
// Pins to cycles and stages fix s'(p) = s(p), floor(c / I) or the stage, for some ops p: an arc
// from a common origin to p of that weight, and one back. A simple path passes the origin at its
// beginning only, so that stages grow by the largest of these weights at most.
#include "graph/bounds/stage_bound.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "graph/accepted.hpp"
#include "graph/inner_loops.hpp"
#include "graph/loop.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"

namespace twill {
namespace {

bool holds_something(const Op& op) {
  return op.registers > 0 || std::any_of(op.footprints.begin(), op.footprints.end(),
                                         [](const Footprint& f) { return f.amount > 0; });
}

Cycle bound(const Problem& problem, Cycle ii, bool all_rules) {
  assert(ii >= 1 && consistent(problem));
  std::vector<bool> holds;
  for (const Op& op : problem.ops) holds.push_back(holds_something(op));
  for (const int u : charged_loads(problem))
    for (const BufferHolder& holder : buffer_holders(problem, u))
      holds[static_cast<std::size_t>(holder.op)] = true;
  std::vector<Cycle> term(problem.ops.size(), 0);
  for (const Edge& edge : problem.edges) {
    if (edge.from == edge.to) continue;
    const auto u = static_cast<std::size_t>(edge.from), v = static_cast<std::size_t>(edge.to);
    Cycle longest = edge.delay, shortest = edge.delay;
    if (all_rules) {
      if (crossing_possible(problem, edge)) longest += spill_of(problem, edge);
      if (crossing_forced(problem, edge)) shortest += spill_of(problem, edge);
    }
    term[v] = std::max(term[v], longest + ii - 1 - edge.distance * ii);
    if (all_rules && holds[u]) term[u] = std::max(term[u], edge.distance * ii - shortest);
  }
  for (const FixedDistance& d :
       all_rules ? fixed_distances(problem) : std::vector<FixedDistance>{}) {
    Cycle& later = term[static_cast<std::size_t>(d.later)];
    later = std::max(later, d.cycles);
  }
  const Components components = weakly_connected_components(problem);
  std::vector<Cycle> sum(static_cast<std::size_t>(components.count), 0);
  std::vector<Cycle> least(static_cast<std::size_t>(components.count), -1);
  Cycle most = 0;
  for (std::size_t v = 0; v < term.size(); ++v) {
    const auto c = static_cast<std::size_t>(components.of[v]);
    sum[c] += term[v];
    least[c] = least[c] < 0 ? term[v] : std::min(least[c], term[v]);
  }
  for (std::size_t c = 0; c < sum.size(); ++c) most = std::max(most, sum[c] - least[c]);
  return 1 + (ii - 1 + most) / ii;
}

}  // namespace

Cycle stage_bound(const Problem& problem, Cycle ii) {
  const Cycle of_cycles = std::max<Cycle>(0, latest_pinned_cycle(problem)) / ii;
  return bound(problem, ii, true) + std::max({Cycle{0}, of_cycles, last_pinned_stage(problem)});
}

Cycle modulo_stage_bound(const Problem& problem, Cycle ii) {
  return bound(problem, ii, false);
}

}  // namespace twill
