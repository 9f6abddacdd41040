#include "engine/placement_conflict.hpp"

#include <algorithm>
#include <cstdint>

#include "graph/program/program.hpp"

namespace twill {
namespace {

using program::Block;
using program::Fit;
using program::Meet;

constexpr std::int64_t kFitSteps = 20'000;

}  // namespace

bool PlacementConflict::holds() const {
  std::vector<Block> blocks;
  std::vector<std::size_t> from;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (!there[k]) continue;
    blocks.push_back({stride[k] * (depth[k] - 1) + size[k], alignment[k]});
    from.push_back(k);
  }
  const std::size_t real = blocks.size();
  for (int b = 0; b < barriers; ++b)
    blocks.push_back({program::kBarrierBytes, program::kBarrierBytes});
  std::vector<Meet> all(blocks.size() * blocks.size(), Meet::never);
  for (std::size_t a = 0; a < real; ++a)
    for (std::size_t b = 0; b < real; ++b)
      if (a != b) all[a * blocks.size() + b] = how(from[a], from[b]);
  std::vector<Amount> bases;
  return fit(blocks, all, capacity, kFitSteps, bases) == Fit::none;
}

void PlacementConflict::shrink() {
  for (std::size_t k = 0; k < keys.size(); ++k)
    if (handed[k] && there[k]) {
      there[k] = false;
      if (!holds()) there[k] = true;
    }
  for (const bool first : {true, false})
    for (std::size_t a = 0; a < keys.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) {
        if (!open(a, b) || (vague[a] || vague[b]) != first) continue;
        const Meet now = how(a, b);
        how(a, b) = how(b, a) = Meet::any;
        if (!holds()) how(a, b) = how(b, a) = now;
      }
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const int now = depth[k];
    for (depth[k] = std::min(now, least[k]); depth[k] < now && !holds();) ++depth[k];
  }
  const int now = barriers;
  for (barriers = std::min(now, least_barriers); barriers < now && !holds();) ++barriers;
}

}  // namespace twill
