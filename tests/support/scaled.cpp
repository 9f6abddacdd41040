#include "tests/support/scaled.hpp"

#include <algorithm>

#include "graph/memory_charges.hpp"

namespace twill::test {

void scale(Problem& p, Cycle k) {
  for (Op& o : p.ops) {
    o.cycles *= k;
    o.spill *= k;
    for (Reservation& r : o.reservations) {
      r.offset *= k;
      r.length *= k;
    }
  }
  for (Edge& e : p.edges) {
    e.delay *= k;
    e.hold *= k;
    if (e.spill) *e.spill *= k;
  }
  for (Channel& c : p.channels) c.rate.denominator *= k;
  for (Pin& pin : p.pins)
    if (pin.kind == Pin::at_cycle) pin.cycle *= k;
  for (InnerLoop& loop : p.inner_loops)
    for (InnerPart& part : loop.parts) part.offset *= k;
  p.interval.least = k * (p.interval.least - 1) + 1;
  p.interval.most = std::min(kMaxInterval, k * p.interval.most);
}

bool may_be_divided(const Problem& p) {
  return p.inner_loops.empty() &&
         std::ranges::none_of(p.ops, [](const Op& o) { return o.spill > 0; }) &&
         std::ranges::none_of(p.edges, [](const Edge& e) { return e.spill.value_or(0) > 0; }) &&
         std::ranges::none_of(p.edges, [](const Edge& e) { return e.blocking; }) &&
         charged_loads(p).empty();
}

}  // namespace twill::test
