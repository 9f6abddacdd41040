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

const char* to_string(Stop stop) {
  switch (stop) {
    case Stop::bound: return "bound";
    case Stop::refuted: return "refuted";
    case Stop::time_limit: return "time limit";
    case Stop::conflict_limit: return "conflict limit";
    case Stop::memory_limit: return "memory limit";
    case Stop::interrupt: return "stopped";
    case Stop::unsaid: break;
  }
  return "";
}

Stop parse_stop(std::string_view text) {
  for (const Stop stop : {Stop::bound, Stop::refuted, Stop::time_limit, Stop::conflict_limit,
                          Stop::memory_limit, Stop::interrupt})
    if (text == to_string(stop)) return stop;
  return Stop::unsaid;
}

bool cut_short(Stop stop) {
  return stop == Stop::time_limit || stop == Stop::conflict_limit || stop == Stop::memory_limit ||
         stop == Stop::interrupt;
}

std::string conflict_text(const Reason& reason) {
  return (reason.forces() ? "forced by " : "") + reason.text;
}

void set_reasons(Solution& solution, std::vector<Reason> reasons) {
  solution.conflict.clear();
  for (const Reason& reason : reasons) solution.conflict.push_back(conflict_text(reason));
  solution.reasons = std::move(reasons);
}

void set_stop(Solution& solution, Stop stop) {
  solution.stop = stop;
  solution.stopped_by = cut_short(stop) ? to_string(stop) : "";
}

}  // namespace twill
