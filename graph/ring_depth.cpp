#include "graph/ring_depth.hpp"

#include <algorithm>

#include "graph/index.hpp"

namespace twill {

std::vector<BufferHolder> buffer_holders(const Problem& problem, int u) {
  std::vector<BufferHolder> holders{{u, 0}};
  for (std::size_t i = 0; i < holders.size(); ++i)
    for (const Edge& e : problem.edges)
      if (e.from == holders[i].op && problem.ops[at(e.to)].cycles == 0 &&
          std::none_of(holders.begin(), holders.end(),
                       [&](const BufferHolder& h) { return h.op == e.to; }))
        holders.push_back({e.to, holders[i].iterations + e.distance});
  return holders;
}

std::vector<BufferUse> buffer_uses(const Problem& problem, int u) {
  std::vector<BufferUse> uses;
  for (const BufferHolder& holder : buffer_holders(problem, u))
    for (std::size_t i = 0; i < problem.edges.size(); ++i) {
      const Edge& e = problem.edges[i];
      if (e.from == holder.op)
        uses.push_back({e.to, holder.iterations + e.distance,
                        std::max(problem.ops[at(e.to)].cycles, e.hold), static_cast<int>(i)});
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
