#include "graph/lowering/normalize_system.hpp"

#include <numeric>

namespace twill {
namespace {

/// b > 0.
Wide wide_floor_divide(Wide a, Wide b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace

Wide NormalizeTolerance::least(Wide ci, Wide cj, Wide x) const {
  if (objective == NormalizeObjective::absolute) return -wide_floor_divide(f - cj * x, ci);
  const Wide a = denominator * (x * cj), b = numerator * ci;
  return strict ? a / b + 1 : (a + b - 1) / b;
}

Wide NormalizeTolerance::greatest(Wide ci, Wide cj, Wide x) const {
  if (objective == NormalizeObjective::absolute) return wide_floor_divide(cj * x + f, ci);
  const Wide a = numerator * (x * cj), b = denominator * ci;
  return strict ? (a - 1) / b : a / b;
}

bool NormalizeSystem::raise(std::vector<Cycle>& low) const {
  Cycle sum = std::accumulate(low.begin(), low.end(), Cycle{0});
  for (bool changed = true; changed && sum <= budget_;) {
    changed = false;
    for (std::size_t i = 0; i < low.size(); ++i) {
      for (std::size_t j = 0; j < low.size(); ++j) {
        if (i == j) continue;
        const Wide least = tolerance_.least(costs_[i], costs_[j], low[i]);
        if (least <= low[j]) continue;
        if (least > budget_) return false;
        sum += static_cast<Cycle>(least) - low[j];
        low[j] = static_cast<Cycle>(least);
        changed = true;
      }
    }
  }
  return sum <= budget_;
}

bool NormalizeSystem::lower(std::vector<Cycle>& high) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < high.size(); ++i) {
      for (std::size_t j = 0; j < high.size(); ++j) {
        if (i == j) continue;
        const Wide greatest = tolerance_.greatest(costs_[i], costs_[j], high[i]);
        if (greatest >= high[j]) continue;
        if (greatest < 1) return false;
        high[j] = static_cast<Cycle>(greatest);
        changed = true;
      }
    }
  }
  return true;
}

bool NormalizeSystem::feasible(std::vector<Cycle>* least) const {
  std::vector<Cycle> low(costs_.size(), 1);
  const bool ok = raise(low);
  if (ok && least) *least = low;
  return ok;
}

}  // namespace twill
