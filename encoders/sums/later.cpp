// Sums whose bound is chosen later, by the encodings of a choice.
#include <algorithm>
#include <numeric>

#include "encoders/choose.hpp"

namespace twill {
namespace {

// What an encoding of sum / divisor <= bound says about sum + always.
struct Shift {
  std::int64_t upper, always, divisor, total;

  LaterBound of(LaterBound bound) const {
    if (const auto* assumable = std::get_if<AssumableBound>(&bound))
      return AssumableBound(upper, assumable->monotone(),
                            [shift = *this, inner = *assumable](std::int64_t b) {
                              if (b - shift.always >= shift.total) return std::vector<Lit>();
                              return inner.at_most(shift.inner(b));
                            });
    if (const auto* tightenable = std::get_if<TightenableBound>(&bound))
      return TightenableBound(
          upper, [shift = *this, inner = *tightenable](Formula& f, std::int64_t b) mutable {
            inner.tighten(f, shift.inner(b));
          });
    return bound;
  }
  std::int64_t inner(std::int64_t b) const { return b < always ? -1 : (b - always) / divisor; }
};

LaterBound encoded(Formula& f, const EncodingChoice& choice, const PseudoBoolean& sum,
                   bool equal_weights) {
  if (equal_weights) {
    LaterCardEncoder* encode = choice.card ? choice.card->encode.later_card : later_ktotalizer;
    if (encode != nullptr) return encode(f, literals_of(sum), sum.bound);
  } else {
    LaterPbEncoder* encode = choice.pb ? choice.pb->encode.later_pb : later_dpw;
    if (encode != nullptr) return encode(f, sum);
  }
  at_most_sum(f, choice, sum.terms, sum.bound);
  return FinalBound{};
}

}  // namespace

LaterBound later_at_most_sum(Formula& f, const EncodingChoice& choice, std::span<const Term> terms,
                             std::int64_t upper) {
  Shift shift{upper, 0, 0, 0};
  std::vector<Term> rest = merged(terms, shift.always);
  if (upper < shift.always) {
    f.clause({});
    return FinalBound{};
  }
  std::erase_if(rest, [&](const Term& t) {
    if (t.weight <= upper - shift.always) return false;
    f.unit(~t.literal);
    return true;
  });
  for (const Term& t : rest) {
    shift.total += t.weight;
    shift.divisor = std::gcd(shift.divisor, t.weight);
  }
  if (rest.size() <= 1) {
    shift.divisor = 1;
    std::vector<Lit> none;
    for (const Term& t : rest) none.push_back(~t.literal);
    return shift.of(AssumableBound(upper, true, [none](std::int64_t) { return none; }));
  }
  PseudoBoolean sum{rest, 0};
  for (Term& t : sum.terms) t.weight /= shift.divisor;
  std::stable_sort(sum.terms.begin(), sum.terms.end(),
                   [](const Term& a, const Term& b) { return a.weight > b.weight; });
  const bool equal_weights = sum.terms.front().weight == 1;
  // Literals to assume are for bounds that the sum can exceed; clauses hold from now on.
  const std::int64_t limit = upper - shift.always;
  const EncodingInfo* row = equal_weights ? choice.card : choice.pb;
  const bool assumed = row == nullptr || row->strengthening == Strengthening::assumption;
  sum.bound = std::min(limit, assumed ? shift.total - 1 : shift.total) / shift.divisor;
  return shift.of(encoded(f, choice, sum, equal_weights));
}

}  // namespace twill
