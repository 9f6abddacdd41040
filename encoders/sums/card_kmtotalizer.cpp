// k-limited modulo totalizer: Ogawa, Liu, Hasegawa, Koshimura and Fujita, "Modulo Based CNF
// Encoding of Cardinality Constraints and Its Application to MaxSAT Solvers", ICTAI 2013, limited
// to the bound as in Morgado, Ignatiev and Marques-Silva, "MSCG: Robust Core-Guided MaxSAT
// Solving", JSAT 2015.
//
// A totalizer tree whose nodes hold their count as quotient and remainder by p = max(2,
// ceil(sqrt(n))), both in unary. Auxiliary variables of an inner node over s literals:
// q_j = "the quotient is at least j", j = 1 .. min(floor(s / p), floor(k / p) + 1); r_j = "the
// remainder is at least j", j = 1 .. min(s, p - 1); and a carry where the remainders a and b of the
// children can reach a + b >= p. Clauses: per pair (i, j) != (0, 0) of child remainders one: for
// i + j < p (i and j and not carry imply r_{i+j}), = p (imply carry), > p (imply r_{i+j-p}); per
// pair (i, j) of child quotients within the limit one for i + j (but (0, 0)) and, where there is a
// carry, one for i + j + 1. At the root not q_{floor(k/p)+1} where that exists, and with
// q_{floor(k/p)} not r_{k mod p + 1} where that exists. The numbers are read up to their first
// false literal; larger ones may be chosen than the true counts, never smaller. Unit propagation:
// neither consistent nor arc consistent (a remainder waits for its carry). Smaller bounds by
// assumption: not by one set of literals that propagates alone, so each bound up to `upper` has one
// more variable t_k with t_k -> not q_{..} and t_k, q_{..} -> not r_{..}.
#include <algorithm>

#include "encoders/sums/cardinality.hpp"

namespace twill {
namespace {

struct Count {
  std::vector<Lit> quotient, remainder;
  std::size_t size = 0;
};

class Tree {
 public:
  Tree(Formula& f, std::size_t literals, std::int64_t k) : f_(f) {
    while (modulus_ * modulus_ < literals) ++modulus_;
    limit_ = static_cast<std::size_t>(k) / modulus_ + 1;
  }

  Count count(std::span<const Lit> literals) {
    if (literals.size() == 1) return {{}, {literals[0]}, 1};
    const std::size_t half = literals.size() / 2;
    const Count left = count(literals.first(half));
    const Count right = count(literals.subspan(half));
    return sum(left, right);
  }

  /// The count is at most k whenever `condition`.
  void bound(const Count& count, std::int64_t k, Lit condition) {
    const std::size_t quotient = static_cast<std::size_t>(k) / modulus_;
    const std::size_t remainder = static_cast<std::size_t>(k) % modulus_;
    if (quotient < count.quotient.size()) f_.implies(condition, ~count.quotient[quotient]);
    if (quotient > count.quotient.size() || remainder >= count.remainder.size()) return;
    const Lit reached = quotient == 0 ? kTrueLit : count.quotient[quotient - 1];
    f_.implies(condition, reached, ~count.remainder[remainder]);
  }

 private:
  Count sum(const Count& a, const Count& b) {
    Count out;
    out.size = a.size + b.size;
    out.quotient.resize(std::min(out.size / modulus_, limit_));
    out.remainder.resize(std::min(out.size, modulus_ - 1));
    for (Lit& l : out.quotient) l = f_.fresh();
    for (Lit& l : out.remainder) l = f_.fresh();
    const bool carries = a.remainder.size() + b.remainder.size() >= modulus_;
    const Lit carry = carries ? f_.fresh() : kFalseLit;
    for (std::size_t i = 0; i <= a.remainder.size(); ++i)
      for (std::size_t j = i == 0 ? 1 : 0; j <= b.remainder.size(); ++j) {
        const Lit x = i ? ~a.remainder[i - 1] : kFalseLit;
        const Lit y = j ? ~b.remainder[j - 1] : kFalseLit;
        if (i + j < modulus_)
          f_.clause({x, y, carry, out.remainder[i + j - 1]});
        else
          f_.clause({x, y, i + j == modulus_ ? carry : out.remainder[i + j - modulus_ - 1]});
      }
    for (std::size_t i = 0; i <= a.quotient.size(); ++i)
      for (std::size_t j = 0; j <= b.quotient.size() && i + j <= limit_; ++j) {
        const Lit x = i ? ~a.quotient[i - 1] : kFalseLit;
        const Lit y = j ? ~b.quotient[j - 1] : kFalseLit;
        if (i + j > 0) f_.clause({x, y, out.quotient[i + j - 1]});
        if (carries && i + j < limit_) f_.clause({x, y, ~carry, at(out.quotient, i + j)});
      }
    return out;
  }

  // A quotient that the size rules out cannot be reached with its carry.
  static Lit at(const std::vector<Lit>& number, std::size_t index) {
    return index < number.size() ? number[index] : kFalseLit;
  }

  Formula& f_;
  std::size_t modulus_ = 2;
  std::size_t limit_ = 0;  // largest quotient that is told apart
};

}  // namespace

void card_kmtotalizer(Formula& f, std::span<const Lit> literals, std::int64_t k) {
  Tree tree(f, literals.size(), k);
  tree.bound(tree.count(literals), k, kTrueLit);
}

LaterBound later_kmtotalizer(Formula& f, std::span<const Lit> literals, std::int64_t upper) {
  Tree tree(f, literals.size(), upper);
  const Count count = tree.count(literals);
  std::vector<Lit> within(static_cast<std::size_t>(upper) + 1);
  for (std::size_t k = 0; k < within.size(); ++k) {
    within[k] = f.fresh();
    tree.bound(count, static_cast<std::int64_t>(k), within[k]);
  }
  return AssumableBound(upper, true, [within](std::int64_t bound) -> std::vector<Lit> {
    return {within[static_cast<std::size_t>(bound)]};
  });
}

}  // namespace twill
