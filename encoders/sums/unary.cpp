#include "encoders/sums/unary.hpp"

#include <algorithm>

namespace twill {
namespace {

Unary shortened_to(Unary number, std::size_t limit) {
  if (number.size() > limit) number.resize(limit);
  return number;
}

}  // namespace

Unary unary_sum(Formula& f, const Unary& a, const Unary& b, std::size_t limit) {
  if (a.empty()) return shortened_to(b, limit);
  if (b.empty()) return shortened_to(a, limit);
  Unary sum(std::min(a.size() + b.size(), limit));
  for (Lit& l : sum) l = f.fresh();
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = i == 0 ? 1 : 0; j <= b.size() && i + j <= limit; ++j)
      f.clause({i ? ~a[i - 1] : kFalseLit, j ? ~b[j - 1] : kFalseLit, sum[i + j - 1]});
  return sum;
}

Unary unary_count(Formula& f, std::span<const Lit> literals, std::size_t limit) {
  if (literals.size() <= 1) return shortened_to(Unary(literals.begin(), literals.end()), limit);
  const std::size_t half = literals.size() / 2;
  const Unary left = unary_count(f, literals.first(half), limit);
  const Unary right = unary_count(f, literals.subspan(half), limit);
  return unary_sum(f, left, right, limit);
}

}  // namespace twill
