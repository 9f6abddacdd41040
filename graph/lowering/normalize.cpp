// The optimum without a solver, by a lattice argument.
//
// For a tolerance t (F, or the ratio 1 + error) every condition reads "C'[j] >= g(C'[i])" with a
// non-decreasing g: for F, C'[j] >= ceil((C[j] C'[i] - F) / C[i]). Such conditions on two variables
// are monotone (Hochbaum and Naor, SIAM J. Comput. 1994): their integer solutions are closed under
// componentwise minimum and maximum, so raising a vector of lower bounds to its least fixed point
// gives the componentwise least solution, and lowering upper bounds the greatest. The least one has
// the least sum: a tolerance is feasible if and only if the least solution above (1, ..., 1) has
// sum <= U. That gives the best tolerance by bisection. Among the solutions at that tolerance the
// largest sum <= U is a subset-sum question, answered by branch and bound on C' from the largest
// cost down, where both fixed points bound every node.
#include "graph/lowering/normalize.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>

#include "graph/error.hpp"
#include "graph/lowering/normalize_system.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

using Vector = std::vector<Cycle>;
using Tolerance = NormalizeTolerance;
using System = NormalizeSystem;

Tolerance best_absolute(const Vector& costs, Cycle budget) {
  // C' = (1, ..., 1) reaches F = largest - smallest cost.
  Cycle low = -1, high = costs.front() - costs.back();
  while (high - low > 1) {
    const Cycle middle = low + (high - low) / 2;
    Tolerance t;
    t.f = middle;
    (System(costs, budget, t).feasible() ? high : low) = middle;
  }
  Tolerance t;
  t.f = high;
  return t;
}

/// The largest quotient of ratios of a solution, as a fraction.
Tolerance relative_error(const Vector& costs, const Vector& c) {
  Tolerance t;
  t.objective = NormalizeObjective::relative;
  for (std::size_t i = 0; i < c.size(); ++i) {
    for (std::size_t j = 0; j < c.size(); ++j) {
      const Wide n = Wide{c[i]} * costs[j], d = Wide{c[j]} * costs[i];
      if (n * t.denominator <= t.numerator * d) continue;
      t.numerator = n;
      t.denominator = d;
    }
  }
  return t;
}

Tolerance best_relative(const Vector& costs, Cycle budget) {
  // Bisection on a grid of quotients m / 2^30, then exact steps from one solution to a better one.
  constexpr Cycle kGrid = Cycle{1} << 30;
  Tolerance t;
  t.objective = NormalizeObjective::relative;
  t.denominator = kGrid;
  Cycle low = kGrid - 1, high = (costs.front() / costs.back() + 1) * kGrid;
  while (high - low > 1) {
    const Cycle middle = low + (high - low) / 2;
    t.numerator = middle;
    (System(costs, budget, t).feasible() ? high : low) = middle;
  }
  t.numerator = high;
  Vector c;
  System(costs, budget, t).feasible(&c);
  for (;;) {
    t = relative_error(costs, c);
    Tolerance better = t;
    better.strict = true;
    if (t.numerator == t.denominator || !System(costs, budget, better).feasible(&c)) return t;
  }
}

/// The largest sum, then the lexicographically largest, among all solutions.
class Completion {
 public:
  Completion(const Vector& costs, Cycle budget, const Tolerance& tolerance)
      : system_(costs, budget, tolerance), budget_(budget), size_(costs.size()) {}

  Vector run() {
    Vector low(size_, 1), high(size_, budget_ - static_cast<Cycle>(size_) + 1);
    if (!system_.raise(low) || !system_.lower(high)) return {};
    const Cycle first = low[0], last = high[0];
    // One task per value of the largest cost's C', largest first. The order on solutions is total,
    // so the result does not depend on which task finishes first.
    oneapi::tbb::parallel_for(Cycle{0}, last - first + 1, [&](Cycle k) {
      Vector lo = low, hi = high;
      lo[0] = hi[0] = last - k;
      search(0, std::move(lo), std::move(hi));
    });
    return best_;
  }

 private:
  /// Can a solution of this sum, with this C'[0], still win?
  bool promising(Cycle sum, Cycle leading) {
    const std::lock_guard lock(mutex_);
    return best_.empty() || sum > best_sum_ || (sum == best_sum_ && leading > best_[0]);
  }

  /// `fixed` is the last position with low = high set by the caller. Values are tried downwards, so
  /// within one C'[0] the first solution of a sum is the lexicographically largest.
  void search(std::size_t fixed, Vector low, Vector high) {
    if (!system_.raise(low) || !system_.lower(high)) return;
    Cycle sum = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (low[i] > high[i]) return;
      sum += high[i];
    }
    if (!promising(std::min(sum, budget_), low[0])) return;
    if (sum <= budget_) {  // the greatest solution
      const std::lock_guard lock(mutex_);
      if (best_.empty() || sum > best_sum_ || (sum == best_sum_ && high > best_)) {
        best_ = high;
        best_sum_ = sum;
      }
      return;
    }
    // The least solution has sum <= budget < sum of the greatest, so some position is open.
    std::size_t next = fixed + 1;
    while (low[next] == high[next]) ++next;
    for (Cycle x = high[next]; x >= low[next]; --x) {
      Vector lo = low, hi = high;
      lo[next] = hi[next] = x;
      search(next, std::move(lo), std::move(hi));
    }
  }

  System system_;
  Cycle budget_;
  std::size_t size_;
  std::mutex mutex_;
  Vector best_;
  Cycle best_sum_ = 0;
};

}  // namespace

Normalization normalize_costs(const std::vector<Cycle>& costs, int budget,
                              NormalizeObjective objective) {
  Normalization result;
  result.before = costs;
  std::sort(result.before.begin(), result.before.end(), std::greater<>());
  result.before.erase(std::unique(result.before.begin(), result.before.end()), result.before.end());
  if (result.before.empty()) return result;
  if (budget < 0 || static_cast<std::size_t>(budget) < result.before.size())
    throw InputError(
        "normalisation", "budget", std::to_string(budget),
        "must be at least the number of distinct costs, " + std::to_string(result.before.size()));
  const Tolerance best = objective == NormalizeObjective::absolute
                             ? best_absolute(result.before, budget)
                             : best_relative(result.before, budget);
  result.after = Completion(result.before, budget, best).run();
  result.before_sum = std::accumulate(result.before.begin(), result.before.end(), Cycle{0});
  result.after_sum = std::accumulate(result.after.begin(), result.after.end(), Cycle{0});
  return result;
}

Cycle absolute_error(const Normalization& n) {
  Wide worst = 0;
  for (std::size_t i = 0; i < n.before.size(); ++i)
    for (std::size_t j = 0; j < n.before.size(); ++j)
      worst = std::max(worst, Wide{n.before[i]} * n.after[j] - Wide{n.before[j]} * n.after[i]);
  return static_cast<Cycle>(std::min(worst, Wide{std::numeric_limits<Cycle>::max()}));
}

std::vector<RatioError> ratio_errors(const Normalization& n) {
  std::vector<RatioError> errors;
  for (std::size_t i = 0; i < n.before.size(); ++i) {
    for (std::size_t j = 0; j < n.before.size(); ++j) {
      if (i == j) continue;
      const double before = static_cast<double>(n.before[i]) / static_cast<double>(n.before[j]);
      const double after = static_cast<double>(n.after[i]) / static_cast<double>(n.after[j]);
      errors.push_back({n.before[i], n.before[j], n.after[i], n.after[j], after / before - 1});
    }
  }
  return errors;
}

}  // namespace twill
