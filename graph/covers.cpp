// The renaming is a matching of other's slots into problem's slots (augmenting paths; Berge 1957,
// Kuhn 1955). All rules but the slots' own width, registers and mark see only which ops share a
// slot, and a one-to-one renaming keeps that.
#include "graph/covers.hpp"

#include <algorithm>
#include <vector>

namespace twill {
namespace {

bool replaces(const Problem& problem, int w, const Problem& other, int o) {
  const WarpSlot& mine = problem.warps[static_cast<std::size_t>(w)];
  const WarpSlot& theirs = other.warps[static_cast<std::size_t>(o)];
  if (mine.registers < theirs.registers || mine.variable_latency != theirs.variable_latency)
    return false;
  return std::all_of(problem.ops.begin(), problem.ops.end(), [&](const Op& op) {
    return op.width > theirs.width || op.width <= mine.width;
  });
}

bool match(int o, const std::vector<std::vector<int>>& candidates, std::vector<int>& taken_by,
           std::vector<bool>& tried) {
  for (const int w : candidates[static_cast<std::size_t>(o)]) {
    if (tried[static_cast<std::size_t>(w)]) continue;
    tried[static_cast<std::size_t>(w)] = true;
    int& owner = taken_by[static_cast<std::size_t>(w)];
    if (owner >= 0 && !match(owner, candidates, taken_by, tried)) continue;
    owner = o;
    return true;
  }
  return false;
}

}  // namespace

bool covers(const Problem& problem, const Problem& other) {
  if (problem.ops != other.ops || problem.edges != other.edges || problem.units != other.units ||
      problem.memories != other.memories)
    return false;
  if (!problem.pins.empty() || !other.pins.empty()) return false;  // they name slots
  if (problem.inner_loops != other.inner_loops) return false;
  // Without a marked slot variable latency is void; such a pair is not compared.
  if ((variable_latency_slot(problem) < 0) != (variable_latency_slot(other) < 0)) return false;
  std::vector<std::vector<int>> candidates(other.warps.size());
  for (int o = 0; o < static_cast<int>(other.warps.size()); ++o)
    for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w)
      if (replaces(problem, w, other, o)) candidates[static_cast<std::size_t>(o)].push_back(w);
  std::vector<int> taken_by(problem.warps.size(), -1);
  for (int o = 0; o < static_cast<int>(other.warps.size()); ++o) {
    std::vector<bool> tried(problem.warps.size(), false);
    if (!match(o, candidates, taken_by, tried)) return false;
  }
  return true;
}

}  // namespace twill
