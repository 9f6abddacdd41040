#include "graph/problem.hpp"

#include <algorithm>

namespace twill {

int variable_latency_slot(const Problem& problem) {
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    if (problem.warps[w].variable_latency) return static_cast<int>(w);
  return -1;
}

bool slot_allowed(const Problem& problem, int v, int w) {
  const Op& op = problem.ops[static_cast<std::size_t>(v)];
  const WarpSlot& slot = problem.warps[static_cast<std::size_t>(w)];
  if (slot.width < op.width) return false;
  if (variable_latency_slot(problem) < 0) return true;
  return slot.variable_latency == op.variable_latency;
}

std::vector<int> allowed_slots(const Problem& problem, int v) {
  std::vector<int> slots;
  for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w)
    if (slot_allowed(problem, v, w)) slots.push_back(w);
  return slots;
}

bool exempt_from_concurrency(const Problem& problem, int v) {
  return variable_latency_slot(problem) >= 0 &&
         problem.ops[static_cast<std::size_t>(v)].variable_latency;
}

bool monotone_in_ii(const Problem& problem) {
  return std::all_of(problem.ops.begin(), problem.ops.end(), [](const Op& op) {
    for (std::size_t i = 0; i < op.reservations.size(); ++i) {
      if (op.reservations[i].offset != 0) return false;
      for (std::size_t j = 0; j < i; ++j)
        if (op.reservations[j].unit == op.reservations[i].unit) return false;
    }
    return true;
  });
}

}  // namespace twill
