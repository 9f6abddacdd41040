#include "graph/bounds/dual_feasible.hpp"

#include <set>

namespace twill {

std::vector<DualFeasible> unit_weights(const std::vector<Amount>& amounts, Amount capacity) {
  constexpr Amount kLargest = 8;
  constexpr Amount kMostInstances = 64;
  if (capacity < 2 || capacity > kMostInstances) return {};
  std::vector<DualFeasible> all;
  for (Amount k = 1; k <= kLargest; ++k) all.push_back({DualFeasible::part, k});
  std::set<Amount> ends;
  for (const Amount amount : amounts)
    for (const Amount k : {amount, capacity - amount, capacity - amount + 1})
      if (k > 0 && 2 * k <= capacity) ends.insert(k);
  for (const Amount k : ends) all.push_back({DualFeasible::half, k});
  return all;
}

}  // namespace twill
