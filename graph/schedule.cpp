#include "graph/schedule.hpp"

#include <algorithm>

namespace twill {

Cycle schedule_length(const Problem& problem, const std::vector<Cycle>& start) {
  Cycle length = 0;
  for (std::size_t v = 0; v < start.size(); ++v)
    length = std::max(length, start[v] + problem.ops[v].cycles);
  return length;
}

Cycle stage_count(const Schedule& schedule) {
  Cycle stages = 1;
  for (const Cycle t : schedule.start)
    stages = std::max(stages, 1 + t / schedule.initiation_interval);
  return stages;
}

const char* to_string(Status status) {
  switch (status) {
    case Status::optimal: return "optimal";
    case Status::feasible: return "feasible";
    case Status::infeasible: return "infeasible";
    case Status::unknown: return "unknown";
  }
  return "unknown";
}

}  // namespace twill
