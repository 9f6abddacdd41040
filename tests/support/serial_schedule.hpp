// A schedule that is not good, but enough for what writes schedules.
#pragma once

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill::test {

/// One op after the other, three iterations in flight, each op on the last slot that may hold it;
/// on the first slot of all where none may.
inline Schedule serial_schedule(const Problem& problem) {
  Schedule schedule;
  Cycle at = 0;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    schedule.start.push_back(at);
    at += problem.ops[v].cycles;
    const std::vector<int> slots = allowed_slots(problem, static_cast<int>(v));
    schedule.warp.push_back(slots.empty() ? 0 : slots.back());
  }
  schedule.length = at;
  schedule.initiation_interval = at / 3 + 1;
  return schedule;
}

}  // namespace twill::test
