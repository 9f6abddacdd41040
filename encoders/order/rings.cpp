// The buffers of a load's ring, where a memory charges it (Memory::rings), in the order
// form. With u the load and (v, cycles, iterations) a use of its buffer: depth(u) <= k if and only
// if for every use
//     start(u) + k I > start(v) + iterations I + cycles,
// which is a dependence of delay cycles + 1 and distance k - iterations (order/dependence.cpp) that
// keeps nothing alive.
//
// Variables: deep(u, j) = "at least j buffers", one-sided: it is implied where some use does not
// end before the load of j - 1 iterations later. There is always one buffer. Clauses: those of a
// dependence for each use and j. A depth is the same at every instant, so that a ring is a term of
// every sum of its memory (order/lifetimes.cpp).
#include <algorithm>

#include "encoders/order/order.hpp"
#include "graph/ring_depth.hpp"

namespace twill {

Lit OrderLifetimes::deep(int w, Cycle buffers) {
  if (buffers <= 1) return kTrueLit;
  const auto [place, fresh] = deep_.emplace(std::pair(w, buffers), kFalseLit);
  if (!fresh) return place->second;
  const Lit literal = place->second = m_.f.fresh();
  for (const BufferUse& use : buffer_uses(m_.problem, w)) {
    const Cycle later = buffers - 1 - use.iterations;
    const Cycle executes = m_.problem.ops[static_cast<std::size_t>(use.op)].cycles;
    const bool may_be_shorter = m_.groups.by_parts() && use.cycles > executes;
    m_.precede(use.op, w, later, (may_be_shorter ? executes : use.cycles) + 1, ~literal);
    if (!may_be_shorter) continue;
    const auto part = m_.groups.open({}, {ConstraintPart::hold, use.edge});
    m_.precede(use.op, w, later, use.cycles + 1, ~literal);
  }
  return literal;
}

Cycle OrderLifetimes::most_buffers(int w) const {
  if (m_.any_stage()) return kMaxAmount;
  // Rows differ by less than I: floor((row(v) + cycles - row(u)) / I) <= 1 + cycles / I.
  Cycle most = 1;
  for (const BufferUse& use : buffer_uses(m_.problem, w))
    most = std::max(most, use.iterations + m_.request.stages + 1 + use.cycles / m_.request.ii_low);
  return most;
}

}  // namespace twill
