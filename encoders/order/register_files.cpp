// Rule 6, registers, in the order form: one sum for the register files of all slots.
//
// What is live on a slot grows only where a value of this slot begins. So at the issue of value y
// the copies that are live on y's own slot are summed, whichever that is:
//
//   sum over w and j of registers(w) x [live(w, y, j) and w is on y's slot]
//     <= largest register file - sum over slots s of [y is on s] x (largest - registers(s)).
//
// A sum for each slot says the same as often as there are slots, with a literal "and on this slot"
// for each copy and slot. What it says of slots that y is not on follows from the values that begin
// there. Random loops of 50 ops on three slots have two thirds of the clauses by this, and two to
// three times as many conflicts in the same time (bench/results/hard.md).
//
// Variables: one a pair of values that may share a slot, implied by sharing one (a clause a slot),
// and one a live copy, implied by both. Not where parts of the problem have selectors: of the
// registers each slot is a part.
#include <algorithm>

#include "encoders/order/order.hpp"
#include "graph/index.hpp"

namespace twill {

bool OrderLifetimes::counts_jointly(std::size_t files) const {
  return files > 1 && !m_.groups.by_parts();
}

Lit OrderLifetimes::together(int v, int w, std::span<const Resource* const> files) {
  if (v == w) return kTrueLit;
  const auto [place, fresh] = together_.emplace(std::minmax(v, w), kFalseLit);
  Lit& same = place->second;
  if (!fresh) return same;
  std::vector<int> shared;
  for (const Resource* r : files)
    if (!m_.on(v, r->slot).is_false() && !m_.on(w, r->slot).is_false()) shared.push_back(r->slot);
  if (shared.empty()) return same;
  const bool always = std::any_of(shared.begin(), shared.end(), [&](int s) {
    return m_.on(v, s).is_true() && m_.on(w, s).is_true();
  });
  if (always) return same = kTrueLit;
  same = m_.f.fresh();
  for (const int s : shared) m_.f.clause({same, ~m_.on(v, s), ~m_.on(w, s)});
  return same;
}

void OrderLifetimes::count_files(std::span<const Resource* const> files) {
  std::map<int, Cycle> copies;  // the most of each value that are told apart
  std::set<int> instants;
  Amount largest = 0;
  for (const Resource* r : files) {
    counted_.emplace(r->slot, r->memory);
    largest = std::max(largest, r->capacity);
    const Sums own = sums(*r);
    instants.insert(own.instants.begin(), own.instants.end());
    for (const auto& [w, most] : own.terms) copies[w] = std::max(copies[w], most);
  }
  const auto group = m_.groups.open("registers of all slots");
  for (const int y : instants) {
    std::vector<Term> terms;
    for (const Resource* r : files)
      if (const Lit on = m_.on(y, r->slot); r->capacity < largest && !on.is_false())
        terms.push_back({largest - r->capacity, on});
    for (const auto& [w, most] : copies) {
      const Lit same = together(w, y, files);
      if (same.is_false()) continue;
      for (Cycle j = 1; j <= most; ++j)
        terms.push_back(
            {m_.problem.ops[at(w)].registers, m_.f.implied_by_both(live(w, y, j), same)});
    }
    at_most_sum(m_.f, m_.choice, terms, largest);
  }
}

}  // namespace twill
