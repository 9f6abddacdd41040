// The buffers of a load's ring, where a memory charges it (Memory::rings), in the
// time-indexed form.
//
// That k buffers are enough is a dependence for each use of one (encoders/dependence.cpp).
// Variables: "more than k buffers" for every k that is told apart, one-sided: implied where some
// use does not keep that; each implies the one before. Clauses: those of a dependence for each use
// and k, and one for each k.
#include <algorithm>

#include "encoders/time_indexed/modulo.hpp"
#include "graph/ring_depth.hpp"

namespace twill {
std::vector<Lit> encode_ring(ModuloModel& m, int u, Amount most) {
  const Cycle ii = m.starts.ii();
  Cycle more = 0;  // buffers after the first that the windows allow
  for (const BufferUse& use : buffer_uses(m.problem, u))
    more = std::max(more, (m.window.latest[static_cast<std::size_t>(use.op)] + use.iterations * ii +
                           use.cycles - m.window.earliest[static_cast<std::size_t>(u)]) /
                              ii);
  Cycle counted = std::min(more, most);
  const Cycle told_apart = m.request.detail >= 30  ? counted
                           : m.request.detail == 0 ? 0
                                                   : Cycle{1} << m.request.detail;
  if (most >= 16 && told_apart < counted) {  // a small buffer, as in liveness.cpp
    counted = told_apart;
    m.relaxed = true;
  } else if (counted < more) {
    limit_buffers(m, u, counted + 1, kFalseLit);
  }
  std::vector<Lit> literals;
  for (Cycle k = 1; k <= counted; ++k) {
    const Lit literal = m.f.fresh();
    limit_buffers(m, u, k, literal);
    if (k > 1) m.f.implies(literal, literals.back());
    literals.push_back(literal);
  }
  return literals;
}

}  // namespace twill
