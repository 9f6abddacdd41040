#include "encoders/sums/weight_tree.hpp"

#include <algorithm>

namespace twill {

WeightedOutputs weight_tree(Formula& f, std::span<const WeightedOutputs> leaves, std::int64_t cap) {
  if (leaves.size() == 1) return leaves[0];
  const std::size_t half = leaves.size() / 2;
  WeightedOutputs left = weight_tree(f, leaves.first(half), cap);
  WeightedOutputs right = weight_tree(f, leaves.subspan(half), cap);
  left.emplace(0, kTrueLit);
  right.emplace(0, kTrueLit);
  WeightedOutputs out;
  for (const auto& [a, x] : left)
    for (const auto& [b, y] : right) out.emplace(std::min(a + b, cap), kTrueLit);
  out.erase(0);
  for (auto& [sum, literal] : out) literal = f.fresh();
  for (const auto& [a, x] : left)
    for (const auto& [b, y] : right)
      if (a + b > 0) f.implies(x, y, out.at(std::min(a + b, cap)));
  return out;
}

}  // namespace twill
