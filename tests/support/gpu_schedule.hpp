// The schedule files that the kernels of gpu/ say they realise.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "engine/include/twill.hpp"

namespace twill::test {

/// The path of gpu/schedules/NAME.KIND.json.
inline std::string gpu_schedule_file(const std::string& name, const std::string& kind) {
  return std::string(TWILL_TEST_DATA) + "/../../gpu/schedules/" + name + "." + kind + ".json";
}

struct GpuSchedule {
  Problem problem;
  Solution solution;
  explicit GpuSchedule(const std::string& name)
      : problem(read_problem(gpu_schedule_file(name, "problem"))),
        solution(read_schedule(problem, gpu_schedule_file(name, "schedule"))) {}
  const Schedule& schedule() const { return *solution.schedule; }
  const std::string& slot(std::size_t op) const {
    return problem.warps[static_cast<std::size_t>(schedule().warp[op])].name;
  }
};

/// "qk 0", "row_max 0", ...: what a slot runs in one period from cycle 0, with stages; ops without
/// the prefix, which is left out, are "foreign ...". Operations without cycles are no instructions,
/// but the streaming loads are.
inline std::vector<std::string> order_in_file(const GpuSchedule& files, const std::string& slot,
                                              const std::string& prefix = "") {
  const Cycle interval = files.schedule().initiation_interval;
  std::vector<std::tuple<Cycle, std::size_t, std::string>> rows;
  for (std::size_t v = 0; v < files.problem.ops.size(); ++v) {
    const Op& op = files.problem.ops[v];
    if (files.slot(v) != slot || (op.cycles == 0 && !op.streaming)) continue;
    const bool own = op.id.starts_with(prefix);
    rows.emplace_back(files.schedule().start[v] % interval, v,
                      (own ? op.id.substr(prefix.size()) : "foreign " + op.id) + " " +
                          std::to_string(files.schedule().start[v] / interval));
  }
  std::sort(rows.begin(), rows.end());
  std::vector<std::string> order;
  for (const auto& row : rows) order.push_back(std::get<2>(row));
  return order;
}

}  // namespace twill::test
