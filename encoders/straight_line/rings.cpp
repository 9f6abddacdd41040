// The buffers of a streaming load's ring, where a memory charges it (Memory::rings), in the
// corrected straight-line form. The paper's program does not know them.
//
// At most k buffers are enough where every use of one, (v, cycles, iterations) of load u, ends
// before the load of k iterations later: M(u) + (k - iterations) I >= M(v) + cycles + 1, a
// dependence of copy 0 (straight_line/schedule.cpp).
// Variables: "more than k buffers" for every k that is told apart, one-sided: implied where some
// use does not keep that. Clauses: those of a dependence for each use and k.
#include <algorithm>

#include "encoders/straight_line/straight_line.hpp"
#include "graph/ring_depth.hpp"

namespace twill {
namespace {

// `more` is implied by a use of one of u's buffers that is not over in time for `buffers` of them.
void q_more_buffers(StraightLineModel& m, int u, Cycle buffers, Lit more) {
  for (const BufferUse& use : buffer_uses(m.problem, u)) {
    Edge next;
    next.from = use.op;
    next.to = u;
    next.distance = static_cast<int>(buffers - use.iterations);
    q_precede(m, next, use.cycles + 1, ~more);
  }
}

}  // namespace

std::vector<Lit> q_ring(StraightLineModel& m, int u, Amount most) {
  const Cycle ii = m.request.ii;
  Cycle more = 0;  // buffers after the first that the length allows
  for (const BufferUse& use : buffer_uses(m.problem, u))
    more = std::max(more, (m.latest(use.op) + use.iterations * ii + use.cycles) / ii);
  if (most < more) q_more_buffers(m, u, most + 1, kFalseLit);
  std::vector<Lit> literals;
  for (Cycle k = 1; k <= std::min(more, most); ++k) {
    literals.push_back(m.f.fresh());
    q_more_buffers(m, u, k, literals.back());
  }
  return literals;
}

}  // namespace twill
