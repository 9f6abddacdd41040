#include "encoders/sums/sorting.hpp"

namespace twill {

std::pair<Lit, Lit> comparator(Formula& f, Lit a, Lit b) {
  if (a == b) return {a, a};
  const Lit high = f.fresh(), low = f.fresh();
  f.implies(a, high);
  f.implies(b, high);
  f.implies(a, b, low);
  return {high, low};
}

std::vector<Lit> every_other(std::span<const Lit> sequence, std::size_t first) {
  std::vector<Lit> out;
  for (std::size_t i = first; i < sequence.size(); i += 2) out.push_back(sequence[i]);
  return out;
}

std::vector<Lit> odd_even_merge(Formula& f, std::span<const Lit> a, std::span<const Lit> b) {
  if (a.empty()) return {b.begin(), b.end()};
  if (b.empty()) return {a.begin(), a.end()};
  if (a.size() == 1 && b.size() == 1) {
    const auto [high, low] = comparator(f, a[0], b[0]);
    return {high, low};
  }
  // Of the j largest the odd places have the first, third, ..: v is at most two longer than w.
  const std::vector<Lit> v = odd_even_merge(f, every_other(a, 0), every_other(b, 0));
  const std::vector<Lit> w = odd_even_merge(f, every_other(a, 1), every_other(b, 1));
  std::vector<Lit> out = {v[0]};
  std::size_t i = 0;
  for (; i + 1 < v.size() && i < w.size(); ++i) {
    const auto [high, low] = comparator(f, v[i + 1], w[i]);
    out.push_back(high);
    out.push_back(low);
  }
  if (i + 1 < v.size()) out.push_back(v[i + 1]);
  if (i < w.size()) out.push_back(w[i]);
  return out;
}

std::vector<Lit> odd_even_sort(Formula& f, std::span<const Lit> literals) {
  if (literals.size() <= 1) return {literals.begin(), literals.end()};
  const std::size_t half = literals.size() / 2;
  const std::vector<Lit> left = odd_even_sort(f, literals.first(half));
  const std::vector<Lit> right = odd_even_sort(f, literals.subspan(half));
  return odd_even_merge(f, left, right);
}

}  // namespace twill
