#include "graph/ring_depth.hpp"

#include <algorithm>

#include "graph/index.hpp"

namespace twill {

std::vector<BufferHolder> buffer_holders(const Problem& problem, int u) {
  constexpr int kUnknown = -1;
  std::vector<int> after(problem.ops.size(), kUnknown);  // iterations after the load
  std::vector<char> holds(problem.ops.size(), 0);
  std::vector<BufferHolder> holders{{u, 0}};
  after[at(u)] = 0;
  holds[at(u)] = 1;
  for (std::size_t i = 0; i < holders.size(); ++i)
    for (const Edge& e : problem.edges)
      if (e.from == holders[i].op && problem.ops[at(e.to)].cycles == 0 && holds[at(e.to)] == 0) {
        holds[at(e.to)] = 1;
        holders.push_back({e.to, 0});
      }
  // Longest ways: an op's is known when those of all before it are. Where none is, the ops left lie
  // on a carried cycle or behind one, and those next to what is known take what is known.
  for (std::size_t known = 1; known < holders.size();) {
    std::vector<int> most(problem.ops.size(), kUnknown);
    std::vector<char> waits(problem.ops.size(), 0);
    for (const Edge& e : problem.edges) {
      if (holds[at(e.from)] == 0 || holds[at(e.to)] == 0 || e.from == e.to) continue;
      if (after[at(e.from)] == kUnknown)
        waits[at(e.to)] = 1;
      else
        most[at(e.to)] = std::max(most[at(e.to)], after[at(e.from)] + e.distance);
    }
    const auto take = [&](bool waiting_too) {
      std::size_t taken = 0;
      for (const BufferHolder& h : holders)
        if (after[at(h.op)] == kUnknown && most[at(h.op)] != kUnknown &&
            (waiting_too || waits[at(h.op)] == 0)) {
          after[at(h.op)] = most[at(h.op)];
          ++taken;
        }
      return taken;
    };
    const std::size_t taken = take(false);
    known += taken > 0 ? taken : take(true);
  }
  for (BufferHolder& h : holders) h.iterations = after[at(h.op)];
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
    if (problem.ops[u].fills_ring())
      depths[problem.ops[u].id] = ring_depth(problem, schedule, static_cast<int>(u));
  return depths;
}

}  // namespace twill
