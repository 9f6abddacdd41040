#include "engine/ring_depth.hpp"

#include <algorithm>
#include <vector>

namespace twill {

std::map<std::string, std::int64_t> ring_depths(const Problem& problem, const Schedule& schedule) {
  std::map<std::string, std::int64_t> depths;
  for (std::size_t u = 0; u < problem.ops.size(); ++u) {
    if (!problem.ops[u].streaming) continue;
    Cycle end = schedule.start[u];
    // Ops that hold the buffer, each with the iterations between it and the load.
    std::vector<std::pair<int, int>> holders{{static_cast<int>(u), 0}};
    for (std::size_t i = 0; i < holders.size(); ++i)
      for (const Edge& e : problem.edges) {
        if (e.from != holders[i].first) continue;
        const int iterations = holders[i].second + e.distance;
        const Op& use = problem.ops[static_cast<std::size_t>(e.to)];
        end = std::max(end, schedule.start[static_cast<std::size_t>(e.to)] +
                                iterations * schedule.initiation_interval +
                                std::max(use.cycles, e.hold));
        const std::pair<int, int> next{e.to, iterations};
        // A zero-cycle op on a carried cycle would hold the buffer for ever: follow each op once.
        if (use.cycles == 0 && std::none_of(holders.begin(), holders.end(),
                                            [&](const auto& h) { return h.first == next.first; }))
          holders.push_back(next);
      }
    depths[problem.ops[u].id] = (end - schedule.start[u]) / schedule.initiation_interval + 1;
  }
  return depths;
}

}  // namespace twill
