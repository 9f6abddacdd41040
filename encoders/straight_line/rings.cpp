// The buffers of a load's ring, where a memory charges it (Memory::rings), in the
// corrected straight-line form. The paper's program does not know them.
//
// That k buffers are enough is a dependence of copy 0 for each use of one
// (encoders/dependence.cpp).
// Variables: "more than k buffers" for every k that is told apart, one-sided: implied where some
// use does not keep that. Clauses: those of a dependence for each use and k.
#include <algorithm>

#include "encoders/straight_line/straight_line.hpp"
#include "graph/ring_depth.hpp"

namespace twill {
std::vector<Lit> q_ring(StraightLineModel& m, int u, Amount most) {
  const Cycle ii = m.request.ii;
  Cycle more = 0;  // buffers after the first that the length allows
  for (const BufferUse& use : buffer_uses(m.problem, u))
    more = std::max(more, (m.latest(use.op) + use.iterations * ii + use.cycles) / ii);
  if (most < more) limit_buffers(m, u, most + 1, kFalseLit);
  std::vector<Lit> literals;
  for (Cycle k = 1; k <= std::min(more, most); ++k) {
    literals.push_back(m.f.fresh());
    limit_buffers(m, u, k, literals.back());
  }
  return literals;
}

}  // namespace twill
