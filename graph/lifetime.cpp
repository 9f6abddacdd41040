#include "graph/lifetime.hpp"

#include <algorithm>
#include <numeric>

#include "graph/index.hpp"

namespace twill {

std::int64_t total_lifetime(const Problem& problem, const Schedule& schedule) {
  std::vector<Cycle> longest(problem.ops.size(), 0);
  for (const Edge& e : problem.edges)
    longest[at(e.from)] = std::max(
        longest[at(e.from)], schedule.start[at(e.to)] + e.distance * schedule.initiation_interval +
                                 e.hold - schedule.start[at(e.from)]);
  return std::accumulate(longest.begin(), longest.end(), std::int64_t{0});
}

std::int64_t least_total_lifetime(const Problem& problem) {
  std::vector<Cycle> longest(problem.ops.size(), 0);
  for (const Edge& e : problem.edges)
    longest[at(e.from)] = std::max(longest[at(e.from)], e.delay + e.hold);
  return std::accumulate(longest.begin(), longest.end(), std::int64_t{0});
}

}  // namespace twill
