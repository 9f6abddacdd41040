// Dual feasible functions: weights in the place of amounts, by which more amounts exclude each
// other. A survey: Clautiaux, Alves and Valerio de Carvalho, Annals of OR 179 (2010).
//
// Of amounts whose sum is at most the capacity C the weights f sum to at most F:
//
// amount   f(x) = x, F = C.
// part k   (Lueker 1983; Fekete and Schepers 2001) f(x) = k x where (k + 1) x is a multiple of C,
//          else C floor((k + 1) x / C); F = k C. Proof. If all are such multiples, clear. Else the
//          sum of (k + 1) x / C is at most k + 1, and rounding down the others makes it a smaller
//          integer, at most k; the multiples count for less than that.
// half k   (Carlier, Clautiaux and Moukrim 2007) f(x) = 2 (floor(C / k) - floor((C - x) / k)) for
//          x > C / 2, floor(C / k) for x = C / 2, else 2 floor(x / k); F = 2 floor(C / k). Proof.
//          Beside one x > C / 2 the others are less than C / 2 and fit in C - x, so that theirs is
//          at most 2 floor((C - x) / k). Beside one of C / 2 they fit in C / 2, and
//          2 floor((C / 2) / k) <= floor(C / k). Else it is at most 2 floor(C / k).
#pragma once

#include <vector>

#include "graph/problem.hpp"
#include "graph/wide.hpp"

namespace twill {

/// One function for each capacity.
struct DualFeasible {
  enum Shape { amount, part, half } shape = amount;
  Amount k = 1;  ///< >= 1

  /// f(x). Precondition: 0 < x <= capacity.
  Wide weight(Amount x, Amount capacity) const {
    if (shape == part) {
      const Wide parts = (Wide{k} + 1) * x;
      return parts % capacity == 0 ? Wide{k} * x : parts / capacity * capacity;
    }
    if (shape == half) {
      if (Wide{2} * x > capacity) return 2 * (Wide{capacity} / k - (capacity - x) / k);
      return Wide{2} * x == capacity ? Wide{capacity} / k : 2 * (Wide{x} / k);
    }
    return x;
  }
  /// F. Precondition: capacity > 0.
  Wide most(Amount capacity) const {
    if (shape == part) return Wide{k} * capacity;
    if (shape == half) return 2 * (Wide{capacity} / k);
    return capacity;
  }
};

/// Those that can say more of these amounts than they themselves, where the capacity is a unit's:
/// none of one instance, nor of very many.
std::vector<DualFeasible> unit_weights(const std::vector<Amount>& amounts, Amount capacity);

}  // namespace twill
