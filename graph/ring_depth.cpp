#include "graph/ring_depth.hpp"

#include <algorithm>
#include <utility>

#include "graph/index.hpp"

namespace twill {

std::vector<BufferUse> buffer_uses(const Problem& problem, int u) {
  std::vector<BufferUse> uses;
  // Ops that hold the buffer, each with the iterations between it and the load.
  std::vector<std::pair<int, int>> holders{{u, 0}};
  for (std::size_t i = 0; i < holders.size(); ++i)
    for (const Edge& e : problem.edges) {
      if (e.from != holders[i].first) continue;
      const int iterations = holders[i].second + e.distance;
      const Op& use = problem.ops[at(e.to)];
      uses.push_back({e.to, iterations, std::max(use.cycles, e.hold)});
      // A zero-cycle op on a carried cycle would hold the buffer for ever: follow each op once.
      if (use.cycles == 0 && std::none_of(holders.begin(), holders.end(),
                                          [&](const auto& h) { return h.first == e.to; }))
        holders.emplace_back(e.to, iterations);
    }
  return uses;
}

std::int64_t ring_depth(const Problem& problem, const Schedule& schedule, int u) {
  const Cycle ii = schedule.initiation_interval, begin = schedule.start[at(u)];
  Cycle end = begin;
  for (const BufferUse& use : buffer_uses(problem, u))
    end = std::max(end, schedule.start[at(use.op)] + use.iterations * ii + use.cycles);
  return (end - begin) / ii + 1;
}

std::map<std::string, std::int64_t> ring_depths(const Problem& problem, const Schedule& schedule) {
  std::map<std::string, std::int64_t> depths;
  for (std::size_t u = 0; u < problem.ops.size(); ++u)
    if (problem.ops[u].streaming)
      depths[problem.ops[u].id] = ring_depth(problem, schedule, static_cast<int>(u));
  return depths;
}

}  // namespace twill
