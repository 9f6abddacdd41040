// What the encodings of start cycles share, and the choice among them.
#include "encoders/time_indexed/starts.hpp"

#include <algorithm>
#include <cassert>

namespace twill {

std::vector<Lit> order_literals(Formula& f, Cycle end, Cycle low, Cycle high) {
  std::vector<Lit> literals;
  literals.reserve(static_cast<std::size_t>(end));
  for (Cycle t = 1; t < end; ++t) {
    const Lit literal = t <= low ? kTrueLit : t > high ? kFalseLit : f.fresh();
    if (!literals.empty()) f.implies(literal, literals.back());
    literals.push_back(literal);
  }
  return literals;
}

void rows_from_values(Formula& f, Starts& starts, int v, Cycle earliest, Cycle latest) {
  const Cycle ii = starts.ii(), first = earliest / ii, last = latest / ii;
  starts.stage_literals().push_back(order_literals(f, starts.stages(), first, last));
  starts.rows().push_back(first == last ? order_literals(f, ii, earliest % ii, latest % ii)
                                        : order_literals(f, ii, 0, ii - 1));
  for (Cycle t = earliest; t <= latest; ++t) {
    const Lit here = starts.starts_at(v, t);
    f.implies(here, starts.row_at_least(v, t % ii));
    f.implies(here, ~starts.row_at_least(v, t % ii + 1));
    f.implies(here, starts.stage_at_least(v, t / ii));
    f.implies(here, ~starts.stage_at_least(v, t / ii + 1));
  }
}

Starts encode_starts(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows,
                     const EncodingChoice& choice) {
  assert(std::all_of(windows.latest.begin(), windows.latest.end(),
                     [&](Cycle latest) { return latest < ii * stages; }));
  switch (choice.start) {
    case StartEncoding::order: return starts_order(f, ii, stages, windows);
    case StartEncoding::direct: return starts_direct(f, ii, stages, windows, choice);
    case StartEncoding::channelled: return starts_channelled(f, ii, stages, windows);
    case StartEncoding::binary: return starts_binary(f, ii, stages, windows);
    case StartEncoding::automatic:
    case StartEncoding::rowstage: break;
  }
  return starts_rowstage(f, ii, stages, windows);
}

}  // namespace twill
