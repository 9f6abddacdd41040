#include "encoders/sums/binary_sum.hpp"

#include <algorithm>
#include <cassert>
#include <deque>

namespace twill {

std::pair<Lit, Lit> full_adder(Formula& f, Lit a, Lit b, Lit c) {
  const Lit sum = f.fresh(), carry = f.fresh();
  for (int bits = 0; bits < 8; ++bits) {  // one clause per row of the truth table
    const bool x = bits & 1, y = bits & 2, z = bits & 4, odd = x ^ y ^ z;
    f.clause({x ? ~a : a, y ? ~b : b, z ? ~c : c, odd ? sum : ~sum});
  }
  for (const auto& [p, q] : {std::pair(a, b), std::pair(a, c), std::pair(b, c)}) {
    f.clause({~p, ~q, carry});
    f.clause({p, q, ~carry});
  }
  return {sum, carry};
}

std::pair<Lit, Lit> half_adder(Formula& f, Lit a, Lit b) {
  if (a.is_constant()) std::swap(a, b);
  if (b.is_false()) return {a, kFalseLit};
  if (b.is_true()) return {~a, a};
  const Lit sum = f.fresh(), carry = f.fresh();
  f.clause({~a, ~b, ~sum});
  f.clause({a, b, ~sum});
  f.clause({~a, b, sum});
  f.clause({a, ~b, sum});
  f.clause({~a, ~b, carry});
  f.clause({a, ~carry});
  f.clause({b, ~carry});
  return {sum, carry};
}

Binary binary_sum(Formula& f, std::span<const Term> terms) {
  std::vector<std::deque<Lit>> bits;
  const auto put = [&](std::size_t bit, Lit literal) {
    if (literal.is_false()) return;
    if (bits.size() <= bit) bits.resize(bit + 1);
    bits[bit].push_back(literal);
  };
  for (const Term& t : terms)
    for (std::size_t bit = 0; t.weight >> bit != 0; ++bit)
      if (t.weight >> bit & 1) put(bit, t.literal);
  Binary number;
  for (std::size_t bit = 0; bit < bits.size(); ++bit) {
    const auto take = [&] {
      const Lit literal = bits[bit].front();
      bits[bit].pop_front();
      return literal;
    };
    while (bits[bit].size() >= 2) {
      const Lit a = take(), b = take();
      const auto [sum, carry] =
          bits[bit].empty() ? half_adder(f, a, b) : full_adder(f, a, b, take());
      put(bit + 1, carry);  // may move the bits
      bits[bit].push_back(sum);
    }
    number.push_back(bits[bit].empty() ? kFalseLit : bits[bit].front());
  }
  return number;
}

Binary binary_plus(Formula& f, const Binary& number, std::int64_t c) {
  assert(c >= 0);
  std::vector<Term> terms;
  for (std::size_t i = 0; i < number.size(); ++i)
    terms.push_back({std::int64_t{1} << i, number[i]});
  terms.push_back({c, kTrueLit});
  return binary_sum(f, terms);
}

void at_most_binary(Formula& f, Binary left, Binary right, Lit condition) {
  const std::size_t width = std::max(left.size(), right.size());
  left.resize(width, kFalseLit);
  right.resize(width, kFalseLit);
  Lit below = kTrueLit;  // of the bits so far: left <= right
  for (std::size_t i = 0; i < width; ++i) {
    const Lit here = i + 1 == width ? condition : f.fresh();
    f.clause({~here, ~left[i], right[i]});
    f.clause({~here, ~left[i], below});
    f.clause({~here, right[i], below});
    below = here;
  }
}

void at_most_binary(Formula& f, const Binary& number, std::int64_t bound, Lit condition) {
  if (bound < 0) return f.clause({~condition});
  // A bit above the bound's needs a 0 in place of one of the bound's higher ones.
  std::vector<Lit> clause = {~condition};
  for (std::size_t bit = number.size(); bit-- > 0;) {
    clause.push_back(~number[bit]);
    if (bit < 63 && bound >> bit & 1) continue;  // stays for the lower bits
    f.clause(clause);
    clause.pop_back();
  }
}

void at_least_binary(Formula& f, const Binary& number, std::int64_t bound) {
  if (bound > 0 && bound >> number.size() != 0) return f.clause({});
  std::vector<Lit> clause;
  for (std::size_t bit = number.size(); bit-- > 0;) {
    clause.push_back(number[bit]);
    if (bound <= 0 || !(bound >> bit & 1)) continue;
    f.clause(clause);
    clause.pop_back();
  }
}

}  // namespace twill
