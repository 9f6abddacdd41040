// Sums whose bound is chosen later, by the encodings of a choice.
#include <algorithm>
#include <numeric>
#include <string>

#include "encoders/choose.hpp"
#include "encoders/sums/cardinality.hpp"

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

// Of the encoding that the sum gets; without a choice the ones below.
Strengthening strengthening_of(const EncodingChoice& choice, bool equal_weights) {
  const int chosen = equal_weights ? static_cast<int>(choice.card) : static_cast<int>(choice.pb);
  if (chosen == 0) return Strengthening::assumption;
  int index = 0;
  for (const EncodingInfo& row : encoding_table())
    if (row.key == (equal_weights ? "card" : "pb") && ++index == chosen) return row.strengthening;
  return Strengthening::none;
}

LaterBound later_count(Formula& f, const EncodingChoice& choice, const PseudoBoolean& sum) {
  std::vector<Lit> literals;
  for (const Term& t : sum.terms) literals.push_back(t.literal);
  switch (choice.card) {
    case CardEncoding::seqcounter: return later_seqcounter(f, literals, sum.bound);
    case CardEncoding::totalizer: return later_totalizer(f, literals, sum.bound);
    case CardEncoding::kmtotalizer: return later_kmtotalizer(f, literals, sum.bound);
    case CardEncoding::sortnet: return later_sortnet(f, literals, sum.bound);
    case CardEncoding::cardnet: return later_cardnet(f, literals, sum.bound);
    case CardEncoding::adder: return later_card_adder(f, literals, sum.bound);
    case CardEncoding::automatic:
    case CardEncoding::ktotalizer: break;
  }
  return later_ktotalizer(f, literals, sum.bound);
}

LaterBound later_weighted(Formula& f, const EncodingChoice& choice, const PseudoBoolean& sum) {
  switch (choice.pb) {
    case PbEncoding::swc: return later_swc(f, sum);
    case PbEncoding::gte: return later_gte(f, sum);
    case PbEncoding::automatic:
    case PbEncoding::dpw: return later_dpw(f, sum);
    case PbEncoding::sorter: return later_sorter(f, sum);
    case PbEncoding::adder: return later_pb_adder(f, sum);
    default: break;
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
  const bool assumed = strengthening_of(choice, equal_weights) == Strengthening::assumption;
  sum.bound = std::min(limit, assumed ? shift.total - 1 : shift.total) / shift.divisor;
  return shift.of(equal_weights ? later_count(f, choice, sum) : later_weighted(f, choice, sum));
}

}  // namespace twill
