#include "graph/slack.hpp"

#include <algorithm>
#include <string>

#include "graph/error.hpp"
#include "graph/index.hpp"

namespace twill {

Cycle least_slack(const Problem& problem, const Schedule& schedule) {
  Cycle least = schedule.initiation_interval;
  for (const Edge& e : problem.edges) {
    if (problem.ops[at(e.from)].streaming) continue;
    const bool crosses = schedule.warp[at(e.from)] != schedule.warp[at(e.to)];
    const Cycle spill = crosses ? spill_of(problem, e) : 0;
    least = std::min(least, schedule.start[at(e.to)] + e.distance * schedule.initiation_interval -
                                schedule.start[at(e.from)] - e.delay - spill);
  }
  return least;
}

Problem with_slack(const Problem& problem, Cycle slack) {
  Problem result = problem;
  for (std::size_t e = 0; e < result.edges.size(); ++e) {
    if (result.ops[at(result.edges[e].from)].streaming) continue;
    Cycle& delay = result.edges[e].delay;
    if (slack > kMaxCycles - delay)
      throw InputError(
          "problem", "/edges/" + std::to_string(e) + "/delay", std::to_string(delay),
          "with a slack of " + std::to_string(slack) + " more than " + std::to_string(kMaxCycles));
    delay += slack;
  }
  return result;
}

}  // namespace twill
