// Cardinality network: Asin, Nieuwenhuis, Oliveras and Rodriguez-Carbonell, "Cardinality Networks:
// a Theoretical and Empirical Study", Constraints 2011 (SAT 2009); for any n and k, without
// padding to powers of two, as in Abio, Nieuwenhuis, Oliveras and Rodriguez-Carbonell, CP 2013.
//
// An odd-even merge sort of which only the largest m = k + 1 outputs are built. Auxiliary
// variables: the outputs of the comparators, from inputs to outputs; where the last output pairs
// up and only its larger half is needed, one variable and two clauses instead of two and three.
// N(n, m) = sort(n) for n <= m, else N(floor(n/2), m), N(ceil(n/2), m) and a merge of min(m, .)
// outputs each that keeps m: with a + b <= m the whole odd-even merge, else the merges of the odd
// places that keeps floor(m / 2) + 1 and of the even places that keeps floor(m / 2), and
// floor((m - 1) / 2) comparators, one half for even m. One unit clause at the root.
// Unit propagation: consistent and arc consistent. Smaller bounds by assumption: any up to k.
#include <algorithm>

#include "encoders/sums/cardinality.hpp"
#include "encoders/sums/sorting.hpp"

namespace twill {
namespace {

std::vector<Lit> cut(std::vector<Lit> sequence, std::size_t m) {
  if (sequence.size() > m) sequence.resize(m);
  return sequence;
}

// The m largest of two sorted sequences.
std::vector<Lit> largest(Formula& f, std::vector<Lit> a, std::vector<Lit> b, std::size_t m) {
  a = cut(std::move(a), m);
  b = cut(std::move(b), m);
  if (a.size() + b.size() <= m || a.empty() || b.empty()) return cut(odd_even_merge(f, a, b), m);
  if (m == 1) {  // one of the two is enough
    const Lit high = f.fresh();
    f.implies(a[0], high);
    f.implies(b[0], high);
    return {high};
  }
  const std::vector<Lit> v = largest(f, every_other(a, 0), every_other(b, 0), m / 2 + 1);
  const std::vector<Lit> w = largest(f, every_other(a, 1), every_other(b, 1), m / 2);
  std::vector<Lit> out = {v[0]};
  for (std::size_t i = 0; out.size() < m; ++i) {
    const Lit x = i + 1 < v.size() ? v[i + 1] : kFalseLit;
    const Lit y = i < w.size() ? w[i] : kFalseLit;
    if (x.is_false() || y.is_false()) {
      out.push_back(x.is_false() ? y : x);
    } else if (out.size() + 1 == m) {
      out.push_back(largest(f, {x}, {y}, 1)[0]);
    } else {
      const auto [high, low] = comparator(f, x, y);
      out.push_back(high);
      out.push_back(low);
    }
  }
  return out;
}

std::vector<Lit> network(Formula& f, std::span<const Lit> literals, std::size_t m) {
  if (literals.size() <= m) return odd_even_sort(f, literals);
  const std::size_t half = literals.size() / 2;
  std::vector<Lit> left = network(f, literals.first(half), m);
  std::vector<Lit> right = network(f, literals.subspan(half), m);
  return largest(f, std::move(left), std::move(right), m);
}

}  // namespace

LaterBound later_cardnet(Formula& f, std::span<const Lit> literals, std::int64_t upper) {
  return unary_bound(network(f, literals, static_cast<std::size_t>(upper) + 1), upper);
}

}  // namespace twill
