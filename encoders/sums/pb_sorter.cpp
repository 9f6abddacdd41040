// Sorters of digits in a mixed radix: Een and Sorensson, "Translating Pseudo-Boolean Constraints
// into SAT", JSAT 2006, Section 5; the base is chosen by their search over primes for the fewest
// sorter inputs.
//
// Digit i of a weight, in base b_1, b_2, ..., is that many inputs of sorter i (odd-even merge,
// sorting.hpp), together with the carries of the sorter before: its outputs b, 2 b, ... The last
// digit has no limit. Auxiliary variables: 2 C(m) for a sorter of m inputs (card_sortnet.cpp), less
// those of comparators at which a literal meets itself, and min(b - 1, m) remainders "digit i is at
// least j" of every digit but the last. Clauses: 3 C(m) a sorter, one per output that is not a
// multiple of b for its remainder, and one per digit that can exceed that of k (digits compared
// from the last on). Unit propagation: consistent, as a higher digit at its limit rules out every
// carry that could take a remainder away; not arc consistent. Smaller bounds: by more clauses of
// the last kind, for good.
#include <algorithm>
#include <array>

#include "encoders/sums/pseudo_boolean.hpp"
#include "encoders/sums/sorting.hpp"

namespace twill {
namespace {

constexpr std::array<std::int64_t, 7> kPrimes = {2, 3, 5, 7, 11, 13, 17};

struct BaseSearch {
  std::vector<std::int64_t> base, best;
  std::int64_t best_cost = 0;

  // Inputs of all sorters, carries included, if the base ends here; then every extension.
  void extend(const std::vector<std::int64_t>& weights, std::int64_t carries, std::int64_t cost) {
    std::int64_t inputs = carries;
    for (const std::int64_t w : weights) inputs += w;
    if (best_cost == 0 || cost + inputs < best_cost) {
      best_cost = cost + inputs;
      best = base;
    }
    for (const std::int64_t prime : kPrimes) {
      std::vector<std::int64_t> rest;
      std::int64_t digits = carries;
      for (const std::int64_t w : weights) {
        digits += w % prime;
        if (w / prime > 0) rest.push_back(w / prime);
      }
      if (rest.empty() || cost + digits >= best_cost) continue;
      base.push_back(prime);
      extend(rest, digits / prime, cost + digits);
      base.pop_back();
    }
  }
};

struct Digit {
  std::vector<Lit> at_least;  // 1, 2, ...
};

void at_most_digits(Formula& f, const std::vector<Digit>& digits,
                    const std::vector<std::int64_t>& base, std::int64_t bound) {
  std::vector<std::int64_t> limit;
  for (const std::int64_t b : base) {
    limit.push_back(bound % b);
    bound /= b;
  }
  limit.push_back(bound);
  std::vector<Lit> below;  // some higher digit is below its limit
  for (std::size_t i = digits.size(); i-- > 0;) {
    const auto& at_least = digits[i].at_least;
    const auto index = static_cast<std::size_t>(limit[i]);
    if (index < at_least.size()) {
      below.push_back(~at_least[index]);
      f.clause(below);
      below.pop_back();
    }
    if (index > at_least.size()) return;  // never reached, so nothing below matters
    if (index > 0) below.push_back(~at_least[index - 1]);
  }
}

}  // namespace

std::vector<std::int64_t> sorter_base(const PseudoBoolean& sum) {
  BaseSearch search;
  std::vector<std::int64_t> weights;
  for (const Term& t : sum.terms) weights.push_back(t.weight);
  search.extend(weights, 0, 0);
  return search.best;
}

LaterBound later_sorter(Formula& f, const PseudoBoolean& sum) {
  const std::vector<std::int64_t> base = sorter_base(sum);
  std::vector<Term> rest = sum.terms;
  std::vector<Digit> digits;
  std::vector<Lit> carries;
  for (std::size_t i = 0; i <= base.size(); ++i) {
    std::vector<Lit> inputs = std::move(carries);
    carries.clear();
    for (Term& t : rest) {
      const std::int64_t digit = i < base.size() ? t.weight % base[i] : t.weight;
      inputs.insert(inputs.end(), static_cast<std::size_t>(digit), t.literal);
      if (i < base.size()) t.weight /= base[i];
    }
    std::vector<Lit> sorted = odd_even_sort(f, inputs);
    if (i == base.size()) {
      digits.push_back({std::move(sorted)});
      break;
    }
    const auto radix = static_cast<std::size_t>(base[i]);
    std::vector<Lit> remainder(std::min(radix - 1, sorted.size()));
    for (Lit& l : remainder) l = f.fresh();
    for (std::size_t j = 1; j <= sorted.size(); ++j) {
      if (j % radix == 0) {
        carries.push_back(sorted[j - 1]);
        continue;
      }
      const std::size_t next = j - j % radix + radix;  // the carry that takes this output away
      const Lit carry = next <= sorted.size() ? sorted[next - 1] : kFalseLit;
      f.clause({~sorted[j - 1], carry, remainder[j % radix - 1]});
    }
    digits.push_back({std::move(remainder)});
  }
  at_most_digits(f, digits, base, sum.bound);
  return TightenableBound(sum.bound, [digits, base](Formula& formula, std::int64_t bound) {
    if (bound < 0)
      formula.clause({});
    else
      at_most_digits(formula, digits, base, bound);
  });
}

}  // namespace twill
