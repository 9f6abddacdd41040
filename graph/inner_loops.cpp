#include "graph/inner_loops.hpp"

#include <algorithm>

#include "graph/index.hpp"

namespace twill {

std::vector<int> inner_loop_of(const Problem& problem) {
  std::vector<int> loop_of(problem.ops.size(), -1);
  for (std::size_t k = 0; k < problem.inner_loops.size(); ++k)
    for (const InnerPart& part : problem.inner_loops[k].parts)
      loop_of[at(part.op)] = static_cast<int>(k);
  return loop_of;
}

std::vector<FixedDistance> fixed_distances(const Problem& problem) {
  std::vector<FixedDistance> distances;
  for (std::size_t k = 0; k < problem.inner_loops.size(); ++k) {
    const std::vector<InnerPart>& parts = problem.inner_loops[k].parts;
    const auto first = std::min_element(
        parts.begin(), parts.end(),
        [](const InnerPart& a, const InnerPart& b) { return a.offset < b.offset; });
    for (auto part = parts.begin(); part != parts.end(); ++part)
      if (part != first)
        distances.push_back(
            {first->op, part->op, part->offset - first->offset, static_cast<int>(k)});
  }
  return distances;
}

bool may_wait(const Problem& problem, const std::vector<int>& loop_of, const Edge& edge) {
  return loop_of[at(edge.to)] < 0 || problem.ops[at(edge.to)].cycles > 0;
}

std::string inner_loop_text(const InnerLoop& loop) {
  return "inner loop " + loop.name + " keeps its offsets and its slots for itself";
}

std::string fixed_distance_text(const Problem& problem, const FixedDistance& distance) {
  return "inner loop " + problem.inner_loops[at(distance.loop)].name + ": " +
         problem.ops[at(distance.later)].id + " " + std::to_string(distance.cycles) +
         " cycles after " + problem.ops[at(distance.earlier)].id;
}

}  // namespace twill
