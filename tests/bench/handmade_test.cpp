// Schedules that people made, completed by pins and compared with the optimum: the table of
// bench/results/machine.md, which bench/handmade.sh prints.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/include/twill.hpp"
#include "tests/support/streaming.hpp"

namespace handmade_test {

using namespace twill;

namespace {

Problem lowered(const std::string& kernel, const std::string& machine, const std::string& layout,
                const std::vector<std::pair<std::string, std::string>>& set = {}) {
  LowerOptions options = test::streaming_loads(false);
  options.layout = layout;
  options.set = set;
  return lower(builtin_kernel(kernel, machine), kernel, builtin_machine(machine), machine, options)
      .front()
      .problem;
}

int op_named(const Problem& p, const std::string& id) {
  for (std::size_t v = 0; v < p.ops.size(); ++v)
    if (p.ops[v].id == id) return static_cast<int>(v);
  FAIL("no op " << id);
  return -1;
}

int slot_named(const Problem& p, const std::string& name) {
  for (std::size_t w = 0; w < p.warps.size(); ++w)
    if (p.warps[w].name == name) return static_cast<int>(w);
  FAIL("no slot " << name);
  return -1;
}

/// Every op of a sub-tile whose id ends so (or any, for "") is on the slot; later roles win.
void roles(Problem& p, const std::vector<std::vector<std::string>>& table) {
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    std::string slot;
    for (const auto& row : table)
      if (p.ops[v].id.starts_with(row[0]) && p.ops[v].id.ends_with(row[1])) slot = row[2];
    if (!slot.empty())
      p.pins.push_back({Pin::on_slot, static_cast<int>(v), slot_named(p, slot), -1, -1});
  }
}

void at(Problem& p, const std::string& id, Cycle cycle) {
  p.pins.push_back({Pin::at_cycle, op_named(p, id), -1, cycle, -1});
}

void check_best(const Problem& problem, Cycle ii, Cycle length, const Options& options = {}) {
  const Solution solution = solve(problem, options);
  REQUIRE(solution.status == Status::optimal);
  CHECK(solution.schedule->initiation_interval == ii);
  CHECK(solution.schedule->length == length);
}

}  // namespace

TEST_CASE("FlashAttention-3 forward: a consumer group a sub-tile, QK of the next before PV") {
  Problem p = lowered("hopper-fwd-sub2", "hopper", "2x4");
  check_best(p, 2048, 3072);
  roles(p, {{"s0_", "", "wg0"}, {"s1_", "", "wg1"}});
  check_best(p, 2048, 3072);
  // The groups take turns: each issues QK of the next block, then PV of this one.
  at(p, "s0_qk", 0);
  at(p, "s0_pv", 512 + 2048);
  at(p, "s1_qk", 1024);
  at(p, "s1_pv", 1536 + 2048);
  check_best(p, 2048, 4096);
}

TEST_CASE("FlashAttention-3 backward: iterations do not overlap") {
  const Problem p = lowered("hopper-bwd", "hopper", "1x8");
  check_best(p, 2946, 5124);
  Options options;
  options.stages = "1";
  check_best(p, 3074, 4610, options);
}

TEST_CASE("FlashAttention-4 and CUTLASS 77 forward: roles, and PV before QK of the same sub-tile") {
  using Set = std::vector<std::pair<std::string, std::string>>;
  const std::string path = "layouts.softmax-correction.slots.";
  for (const Set& set : {Set{},  // 192, 192, 96, 32: CUTLASS
                         Set{{path + "correction.registers", "72"},
                             {path + "load.registers", "56"},
                             {path + "mma.registers", "56"},
                             {path + "aux.registers", "56"}}}) {
    Problem p = lowered("blackwell-fwd-sub2-chunked", "blackwell", "softmax-correction", set);
    check_best(p, 2064, 4112);
    roles(p, {{"s0_", "", "softmax0"},
              {"s1_", "", "softmax1"},
              {"s", "_qk", "mma"},
              {"s", "_pv", "mma"},
              {"s", "_rescale", "correction"}});
    check_best(p, 2064, 4112);
    at(p, "s0_qk", 0);
    at(p, "s1_qk", 1032);
    at(p, "s0_pv", 1552 + 2064);
    at(p, "s1_pv", 520 + 2 * 2064);
    check_best(p, 2064, 5160);
  }
}

}  // namespace handmade_test
