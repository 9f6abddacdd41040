// The schedules that the GPU kernels declare against the files that they name: the files are valid
// and optimal, and the kernels' tables say what the files say.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/include/twill.hpp"
#include "gpu/hopper/forward/program.hpp"
#include "graph/io/file.hpp"
#include "tests/support/gpu_schedule.hpp"
#include "tests/support/streaming.hpp"

namespace gpu_schedule_test {

using namespace twill;
using test::gpu_schedule_file;
using test::GpuSchedule;
using test::order_in_file;

namespace {

std::vector<std::string> order_in_kernel(const gpu::Slot& slot) {
  std::vector<std::string> order;
  for (const gpu::Step& step : slot.steps)
    order.push_back(std::string(gpu::op_name(step.op)) + " " + std::to_string(step.stage));
  return order;
}

// What reserves the tensor core in a period, in order.
std::vector<std::string> tensor_core_order(const GpuSchedule& files) {
  std::vector<std::pair<Cycle, std::string>> rows;
  for (std::size_t v = 0; v < files.problem.ops.size(); ++v)
    for (const Reservation& r : files.problem.ops[v].reservations)
      if (files.problem.units[static_cast<std::size_t>(r.unit)].name == "TC")
        rows.emplace_back(files.schedule().start[v] % files.schedule().initiation_interval,
                          files.slot(v) + " " + files.problem.ops[v].id);
  std::sort(rows.begin(), rows.end());
  std::vector<std::string> order;
  for (const auto& row : rows) order.push_back(row.second);
  return order;
}

void compare(const gpu::Schedule& declared, const GpuSchedule& files) {
  CHECK(files.schedule().initiation_interval == declared.interval);
  CHECK(files.schedule().length == declared.length);
  for (int s = 0; s < declared.slots; ++s)
    CHECK(order_in_file(files, declared.slot[s].name, declared.slot[s].prefix) ==
          order_in_kernel(declared.slot[s]));
  CHECK(order_in_file(files, declared.loader, "") ==
        std::vector<std::string>{"ld_k 0", "ld_v " + std::to_string(declared.v_stage)});
  std::vector<std::string> turns;
  for (int k = 0; k < declared.turns; ++k) {
    const gpu::Slot& slot = declared.slot[declared.turn[k].slot];
    turns.push_back(std::string(slot.name) + " " + slot.prefix + gpu::op_name(declared.turn[k].op));
  }
  CHECK(tensor_core_order(files) == turns);
  for (const auto& load : files.solution.ring_depths) {
    INFO(load.first);
    CHECK(declared.ring >= load.second);
  }
}

}  // namespace

TEST_CASE("the files that the Hopper forward kernel names are valid and its tables say the same") {
  for (const gpu::Schedule* declared : gpu::kForwardSchedules) {
    INFO(declared->name);
    const GpuSchedule files(declared->file);
    REQUIRE(files.solution.schedule.has_value());
    CHECK(files.solution.status == Status::optimal);
    CHECK(files.solution.problem_sha256 ==
          sha256(read_file(gpu_schedule_file(declared->file, "problem"))));
    const auto violation = verify(files.problem, files.schedule());
    CHECK_MESSAGE(!violation.has_value(), (violation ? violation->text : ""));
    compare(*declared, files);
  }
}

TEST_CASE("their I and L are optimal: a search finds none better and proves it") {
  for (const gpu::Schedule* declared : gpu::kForwardSchedules) {
    INFO(declared->name);
    const GpuSchedule files(declared->file);
    Options options;
    options.stages = files.solution.stages;  // "1" for the kernel that is in order
    const Solution best = solve(files.problem, options);
    REQUIRE(best.schedule.has_value());
    CHECK(best.status == Status::optimal);
    CHECK(best.ii_lower_bound == declared->interval);
    CHECK(best.length_lower_bound == declared->length);
  }
}

TEST_CASE("the joint schedule is the best over every slot layout of the machine") {
  const GpuSchedule files(gpu::kTwill.file);
  LowerOptions lower_options = test::streaming_loads(false);  // as the schedule was made
  lower_options.normalize = 300;
  Options better;
  better.better_than = {gpu::kTwill.interval, gpu::kTwill.length};
  bool found = false;
  for (const Lowered& lowered : lower(builtin_kernel("fmha-forward", "hopper"), "fmha-forward",
                                      builtin_machine("hopper"), "hopper", lower_options)) {
    INFO(lowered.layout);
    if (lowered.problem == files.problem)
      found = true;
    else if (covers(files.problem, lowered.problem))
      continue;  // whatever fits this layout fits the other
    CHECK(solve(lowered.problem, better).status == Status::infeasible);
  }
  CHECK(found);
}

TEST_CASE("a table that differs from its file in one place is told apart") {
  const GpuSchedule files(gpu::kTwill.file);
  const auto slot0 = order_in_file(files, "wg0", "s1_");
  gpu::Schedule swapped = gpu::kTwill;
  std::swap(swapped.slot[0].steps[3], swapped.slot[0].steps[4]);
  CHECK(order_in_kernel(swapped.slot[0]) != slot0);
  gpu::Schedule staged = gpu::kTwill;
  staged.slot[0].steps[13].stage = 1;
  CHECK(order_in_kernel(staged.slot[0]) != slot0);
  CHECK(order_in_file(files, "wg1", "s1_") != order_in_kernel(gpu::kTwill.slot[0]));
}

}  // namespace gpu_schedule_test
