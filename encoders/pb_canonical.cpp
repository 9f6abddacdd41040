// The canonical form of a pseudo-Boolean sum (Een and Sorensson, "Translating Pseudo-Boolean
// Constraints into SAT", JSAT 2006, Section 3): merged, positive, sorted, divided by the gcd.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "encoders/pseudo_boolean.hpp"

namespace twill {

PseudoBoolean canonical(Formula& f, std::span<const Term> terms, std::int64_t bound) {
  // Weight of the positive literal minus weight of the negative one, per variable; w x + w' ~x with
  // w >= w' is w' + (w - w') x.
  std::map<int, std::int64_t> weight;
  for (const Term& t : terms) {
    if (t.weight == 0 || t.literal.is_false()) continue;
    if (t.literal.is_true()) {
      bound -= t.weight;
      continue;
    }
    const int code = t.literal.dimacs();
    weight[std::abs(code)] += code > 0 ? t.weight : -t.weight;
    if (code < 0) bound -= t.weight;
  }
  PseudoBoolean sum;
  for (const auto& [variable, w] : weight) {
    if (w == 0) continue;
    if (w < 0) bound -= w;
    sum.terms.push_back({std::abs(w), Lit::of(w > 0 ? variable : -variable)});
  }
  if (bound < 0) return {{}, -1};
  std::erase_if(sum.terms, [&](const Term& t) {
    if (t.weight <= bound) return false;
    f.unit(~t.literal);
    return true;
  });
  std::int64_t divisor = 0;
  for (const Term& t : sum.terms) divisor = std::gcd(divisor, t.weight);
  if (divisor == 0) return {{}, 0};
  std::int64_t total = 0;
  for (Term& t : sum.terms) total += t.weight /= divisor;
  sum.bound = bound / divisor;
  if (total <= sum.bound) return {{}, 0};
  std::stable_sort(sum.terms.begin(), sum.terms.end(),
                   [](const Term& a, const Term& b) { return a.weight > b.weight; });
  return sum;
}

}  // namespace twill
