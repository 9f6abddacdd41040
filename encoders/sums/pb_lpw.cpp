// Local polynomial watchdog: Bailleux, Boufkhad and Roussel, "New Encodings of Pseudo-Boolean
// Constraints into CNF", SAT 2009.
//
// Per term i a watchdog of its own over the other terms (watchdog.hpp) that is implied when they
// exceed k - w_i: then x_i is false. Auxiliary variables and clauses: those of n watchdogs with
// n - 1 terms each, and one clause a term; a term without which the others cannot exceed k - w_i
// has none. Unit propagation: consistent and arc consistent. The tares are for one bound.
#include "encoders/sums/pseudo_boolean.hpp"
#include "encoders/sums/watchdog.hpp"

namespace twill {

void pb_lpw(Formula& f, const PseudoBoolean& sum) {
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    std::vector<Term> others = sum.terms;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    f.implies(watchdog(f, others, sum.bound - sum.terms[i].weight), ~sum.terms[i].literal);
  }
}

}  // namespace twill
