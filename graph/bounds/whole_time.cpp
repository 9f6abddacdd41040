// *Claim 1 (idle cycles).* Let feasibility be monotone from I on (monotone_from()): every
// reservation is one segment from its op's issue, and no op is pinned to a cycle from I on. A
// schedule at I with the length L makes one at I + k, k >= 0, with the same slots and stages and a
// length of at most L + k floor(L / I). Proof. k idle cycles are inserted at the end of every
// period: a start stage x I + row becomes stage (I + k) + row. That this is a schedule is what
// monotone_from() says. An op is delayed by stage x k, and stage <= floor(start / I) <= floor(L /
// I). With at most S stages it is at most S - 1.
//
// So, where no schedule at `at` has a length up to D, none at a smaller I has a length up to d, if
// d
// + (at - I) min(floor(d / I), S - 1) <= D. As I falls the left side grows, for d = deadline(I):
// the I that one refutation excludes are neighbours.
//
// *Claim 2 (iterations that do not meet).* Let W = D + G + 1, with G at least every cycles(v),
// delay
// + spill, hold and cycles of a use of a charged buffer. Starts and slots with L <= D are a
// schedule at one I >= W if and only if they are one at every I >= W, rule 9 aside. Proof. All
// stages are 0. Dependences of distance 0 do not see I; others hold at any I >= W. All that an
// iteration reserves or executes lies in [0, W), so rules 2 and 8 see one iteration at a time. A
// result whose last use is of distance d and ends at d I + m, 0 <= m < W, has d + [s < m] - [s <
// M(u)] copies at residue s < I, the same at either I, and at every s >= W - 1 the same as at W
// - 1. A ring is as deep as 1 + d + floor((M(v) + c - M(u)) / I) says, where the floor is 0 or -1
// by the sign of the numerator. Rule 9 is no matter of formulas, and a larger I only helps it.
//
// *Claim 3 (one iteration alone).* Starts and slots with L <= D that are a schedule at some I are,
// of the edges of distance 0 alone, one at every I >= W. Proof. Those edges do not see I. At any
// residue of the schedule at I at least that is reserved, executing and live that one iteration has
// at one of its times; at I >= W it is that of one iteration, and its results are live no longer,
// since some of their uses are gone. No ring is deeper, by the formula above.
//
// For N = 1 every deadline is the same, d. A refutation at an I of at least apart(d) then excludes
// all larger ones; so does one at apart(d) for any N.
#include "graph/bounds/whole_time.hpp"

#include <algorithm>
#include <cassert>

#include "graph/accepted.hpp"
#include "graph/index.hpp"
#include "graph/loop.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"
#include "graph/schedule.hpp"
#include "graph/wide.hpp"

namespace twill {

Cycle least_length(const Problem& problem) {
  assert(consistent(problem));
  const std::vector<Cycle> delays = forced_delays(problem);
  std::vector<Cycle> start(problem.ops.size(), 0);
  std::vector<std::vector<int>> out(problem.ops.size());
  for (std::size_t e = 0; e < problem.edges.size(); ++e)
    if (problem.edges[e].distance == 0)
      out[at(problem.edges[e].from)].push_back(static_cast<int>(e));
  for (const int u : topological_order(problem))
    for (const int e : out[at(u)])
      start[at(problem.edges[at(e)].to)] =
          std::max(start[at(problem.edges[at(e)].to)], start[at(u)] + delays[at(e)]);
  return schedule_length(problem, start);
}

Problem one_iteration(const Problem& problem) {
  Problem alone = problem;
  std::erase_if(alone.edges, [](const Edge& e) { return e.distance > 0; });
  drop_channels(alone);  // they are about I
  return alone;
}

WholeTimeQuestion::WholeTimeQuestion(const Problem& problem, Cycle iterations, Cycle stage_limit)
    : problem_(problem),
      iterations_(iterations),
      stage_limit_(stage_limit),
      least_(least_length(problem)),
      monotone_(monotone_from(problem)) {
  assert(iterations >= 1 && iterations <= kMaxIterations);
  for (const Op& op : problem.ops) longest_ = std::max(longest_, op.cycles);
  for (const Edge& e : problem.edges)
    longest_ = std::max({longest_, e.delay + spill_of(problem, e), e.hold});
  for (const int u : charged_loads(problem))
    for (const BufferUse& use : buffer_uses(problem, u)) longest_ = std::max(longest_, use.cycles);
}

std::optional<Cycle> WholeTimeQuestion::end() const {
  if (deadline(std::max<Cycle>(1, ii_)) < least_) return std::max<Cycle>(1, ii_);
  if (iterations_ == 1) return std::nullopt;
  // (N - 1) I > T - 1 - least, from ii_ on.
  return std::max(ii_, (time_ - 1 - least_) / (iterations_ - 1) + 1);
}

bool WholeTimeQuestion::excluded(Cycle ii, Cycle at, std::optional<Cycle> refuted) const {
  const Cycle d = deadline(ii);
  if (d < least_) return true;
  if (at < ii) return at >= apart(d) && (!refuted || *refuted >= d);
  const std::optional<Cycle> needed = enough(ii, at);
  return needed && (!refuted || *refuted >= *needed);
}

std::optional<Cycle> WholeTimeQuestion::enough(Cycle first, Cycle at) const {
  const Cycle d = deadline(first);
  if (first == at) return d;
  if (!monotone_ || first < *monotone_) return std::nullopt;
  Cycle stages = std::max<Cycle>(0, d) / first;
  if (stage_limit_ > 0) stages = std::min(stages, stage_limit_ - 1);
  const Wide needed = d + Wide{at - first} * stages;
  if (needed > kMaxStart) return std::nullopt;  // longer than any schedule that is read or found
  return static_cast<Cycle>(needed);
}

}  // namespace twill
