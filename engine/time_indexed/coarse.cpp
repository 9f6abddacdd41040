#include "engine/time_indexed/coarse.hpp"

#include <algorithm>

namespace twill {

Problem coarsened(const Problem& problem, Cycle grain) {
  const auto coarse = [grain](Cycle x) {
    return x == 0 ? Cycle{0} : std::max<Cycle>(1, (x + grain / 2) / grain);
  };
  Problem p = problem;
  drop_channels(p);  // their rates are those of the real cycles
  p.interval = {};   // as is the range of I
  for (Op& op : p.ops) {
    op.cycles = coarse(op.cycles);
    op.spill = coarse(op.spill);
    for (Reservation& r : op.reservations) r.length = std::min(coarse(r.length), op.cycles);
  }
  for (Edge& e : p.edges) {
    e.delay = coarse(e.delay);
    e.hold = coarse(e.hold);
    if (e.spill) e.spill = coarse(*e.spill);
  }
  return p;
}

}  // namespace twill
