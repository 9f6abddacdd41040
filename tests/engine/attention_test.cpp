// The attention graphs on the built-in machines: the results of the paper's Section 6 that the
// model must reproduce. Cycles are normalised (U = 300, or less where the claim does not need it).
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "tests/support/streaming.hpp"

namespace attention_test {

using namespace twill;

namespace {

// With operands that are free when their reader issues, as in the paper, unless `holds`.
Problem lowered(const std::string& kernel, const std::string& machine, const std::string& layout,
                int budget, bool holds = false) {
  LowerOptions options = test::streaming_loads(holds);
  options.layout = layout;
  options.normalize = budget;
  return lower(builtin_kernel(kernel, machine), kernel, builtin_machine(machine), machine, options)
      .front()
      .problem;
}

Solution solved(const Problem& problem, const Options& options = {}) {
  Solution solution = solve(problem, options);
  INFO(problem.name);
  CHECK(solution.status == Status::optimal);
  REQUIRE(solution.schedule.has_value());
  CHECK_FALSE(verify(problem, *solution.schedule).has_value());
  CHECK(solution.ii_lower_bound == solution.schedule->initiation_interval);
  CHECK(solution.length_lower_bound == solution.schedule->length);
  return solution;
}

// Slots of the ops whose id contains one of the words and starts with the prefix.
std::set<std::string> slots_of(const Problem& problem, const Schedule& schedule,
                               const std::string& prefix, const std::vector<std::string>& words) {
  std::set<std::string> slots;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const std::string& id = problem.ops[v].id;
    if (!id.starts_with(prefix)) continue;
    if (std::any_of(words.begin(), words.end(),
                    [&](const std::string& w) { return id.find(w) != std::string::npos; }))
      slots.insert(problem.warps[static_cast<std::size_t>(schedule.warp[v])].name);
  }
  return slots;
}

Cycle unit_work(const Problem& problem, const std::string& unit) {
  Cycle work = 0;
  for (const Op& op : problem.ops)
    for (const Reservation& r : op.reservations)
      if (problem.units[static_cast<std::size_t>(r.unit)].name == unit) work += r.length;
  return work;
}

// Figure 9: every MMA on one slot, each sub-tile's softmax on a slot of its own, both accumulator
// rescales on a third.
void check_figure_9_roles(const Problem& problem, const Schedule& schedule,
                          const std::vector<std::string>& rescale) {
  const std::vector<std::string> softmax = {"tld_s", "row_max", "mul_s", "sub_s", "exp_p", "trunc"};
  const auto mma = slots_of(problem, schedule, "", {"_qk", "_pv"});
  const auto first = slots_of(problem, schedule, "s0_", softmax);
  const auto second = slots_of(problem, schedule, "s1_", softmax);
  const auto correction = slots_of(problem, schedule, "", rescale);
  CHECK(mma.size() == 1);
  CHECK(first.size() == 1);
  CHECK(second.size() == 1);
  CHECK(correction.size() == 1);
  std::set<std::string> all;
  for (const auto& role : {mma, first, second, correction}) all.insert(role.begin(), role.end());
  CHECK(all.size() == 4);
}

// Figure 9's roles as pins: ops whose id contains the word go to the slot.
Options with_roles(const Problem& problem, const std::vector<std::string>& rescale) {
  std::vector<std::pair<std::string, std::string>> roles = {{"_qk", "mma"}, {"_pv", "mma"}};
  for (const std::string word : {"tld_s", "row_max", "mul_s", "sub_s", "exp_p", "trunc"}) {
    roles.emplace_back("s0_" + word, "softmax0");
    roles.emplace_back("s1_" + word, "softmax1");
  }
  for (const std::string& word : rescale) roles.emplace_back(word, "correction");
  Options options;
  for (const Op& op : problem.ops)
    for (const auto& [word, slot] : roles)
      if (op.id.find(word) != std::string::npos) options.pins.emplace_back(op.id, slot);
  return options;
}

// The optimum, and an equally good schedule with Figure 9's roles.
void check_figure_9(const Problem& problem, const std::vector<std::string>& rescale) {
  const Solution solution = solved(problem);
  const Schedule& best = *solution.schedule;
  CHECK(best.initiation_interval == unit_work(problem, "SFU"));
  Options options = with_roles(problem, rescale);
  options.better_than = {best.initiation_interval, best.length + 1};
  const Solution roles = solve(problem, options);
  REQUIRE(roles.schedule.has_value());
  CHECK(roles.schedule->initiation_interval == best.initiation_interval);
  CHECK(roles.schedule->length == best.length);
  CHECK_FALSE(verify(problem, *roles.schedule).has_value());
  check_figure_9_roles(problem, *roles.schedule, rescale);
}

}  // namespace

TEST_CASE("Blackwell forward, chunked rescale, reaches the SFU bound with Figure 9's roles") {
  check_figure_9(lowered("blackwell-fwd-sub2-chunked", "blackwell", "", 300), {"rescale"});
}

TEST_CASE("Blackwell forward on the paper's machine reaches the SFU bound with Figure 9's roles") {
  check_figure_9(lowered("blackwell-fwd-sub2", "blackwell-paper", "", 100),
                 {"tld_acc", "mul_acc", "tst_acc"});
}

TEST_CASE("Hopper forward keeps the Tensor Core busy, the sub-tiles on different slots") {
  const Problem problem = lowered("hopper-fwd-sub2", "hopper", "2x4", 300);
  const Solution solution = solved(problem);
  CHECK(solution.schedule->initiation_interval == unit_work(problem, "TC"));
  const auto first = slots_of(problem, *solution.schedule, "s0_", {"exp_p", "sub_s", "row_max"});
  const auto second = slots_of(problem, *solution.schedule, "s1_", {"exp_p", "sub_s", "row_max"});
  CHECK(first.size() == 1);
  CHECK(second.size() == 1);
  CHECK(first != second);
}

TEST_CASE("Ablations of Section 6.2.2 on Blackwell: a larger interval or none") {
  const Problem problem = lowered("blackwell-fwd-sub2-chunked", "blackwell", "", 100);
  const Cycle best = solved(problem).schedule->initiation_interval;
  CHECK(best == unit_work(problem, "SFU"));

  SUBCASE("fewer warps: no second softmax slot") {
    Problem fewer = problem;
    std::erase_if(fewer.warps, [](const WarpSlot& w) { return w.name == "softmax1"; });
    REQUIRE(fewer.warps.size() + 1 == problem.warps.size());
    Options at_best;
    at_best.ii = best;
    CHECK(solve(fewer, at_best).status == Status::infeasible);
  }
  SUBCASE("no sub-tiling") {
    const Problem plain = lowered("blackwell-fwd-plain", "blackwell", "", 100);
    const Solution solution = solved(plain);
    CHECK(solution.schedule->initiation_interval > unit_work(plain, "SFU"));
    CHECK(solution.schedule->initiation_interval > res_mii(plain).front().value);
  }
}

TEST_CASE("Without cross-warp communication the paper's Blackwell machine misses the SFU bound") {
  const Problem problem = lowered("blackwell-fwd-sub2", "blackwell-paper", "", 60);
  Options options;
  options.handover = false;
  const Solution solution = solved(problem, options);
  CHECK(solution.schedule->initiation_interval > unit_work(problem, "SFU"));
  for (const Edge& e : problem.edges)
    if (problem.ops[static_cast<std::size_t>(e.from)].spill > 0)
      CHECK(solution.schedule->warp[static_cast<std::size_t>(e.from)] ==
            solution.schedule->warp[static_cast<std::size_t>(e.to)]);
}

TEST_CASE("Two 128-row sub-tiles on two Hopper consumer groups have no schedule, and why") {
  const Problem problem = lowered("hopper-fwd-sub2-m128", "hopper", "2x4", 100);
  const Solution solution = solve(problem);
  CHECK(solution.status == Status::infeasible);
  CHECK_FALSE(solution.schedule.has_value());
  CHECK(std::any_of(solution.conflict.begin(), solution.conflict.end(),
                    [](const std::string& text) { return text.starts_with("registers of wg"); }));
}

TEST_CASE("Raw cycles: the optima of all attention graphs on layouts that exist") {
  struct Row {
    const char *kernel, *machine, *layout;
    Cycle interval, length;
  };
  // Solved once by a study in its own code, too; its solver and this one agree.
  for (const Row& row : {Row{"hopper-fwd-plain", "hopper", "1x8", 2729, 5321},
                         {"hopper-fwd-sub2", "hopper", "2x4", 2048, 3072},
                         {"hopper-bwd", "hopper", "1x8", 2946, 5124},
                         {"hopper-bwd-sub2", "hopper", "1x8", 5891, 7106},
                         {"hopper-fwd-sub2-m128", "hopper", "3x4", 9073, 9073},
                         {"blackwell-fwd-plain", "blackwell", "softmax-correction", 1728, 4480},
                         {"blackwell-fwd-sub2", "blackwell", "softmax-correction", 2436, 4678},
                         {"blackwell-fwd-sub2-chunked", "blackwell", "", 2064, 4112},
                         {"blackwell-bwd", "blackwell", "8+4", 4096, 7936},
                         {"blackwell-bwd-sub2", "blackwell", "softmax-correction", 4096, 6016}}) {
    CAPTURE(row.kernel);
    for (const bool holds : {false, true}) {
      CAPTURE(holds);
      const Solution solution = solved(lowered(row.kernel, row.machine, row.layout, 0, holds));
      CHECK(solution.engine == "order");
      CHECK(solution.schedule->initiation_interval == row.interval);
      // Operands held until their MMA ends cost one graph some length, and none its interval.
      const bool longer = holds && row.kernel == std::string("blackwell-bwd");
      CHECK(solution.schedule->length == (longer ? 8512 : row.length));
    }
  }
}

TEST_CASE("Raw cycles: every MMA of Blackwell forward on one slot costs nothing") {
  const Problem problem = lowered("blackwell-fwd-sub2-chunked", "blackwell", "", 0);
  Options options;
  for (const char* op : {"s0_qk", "s1_qk", "s0_pv", "s1_pv"}) options.pins.emplace_back(op, "mma");
  const Solution solution = solved(problem, options);
  CHECK(solution.schedule->initiation_interval == 2064);
  CHECK(solution.schedule->length == 4112);
}

TEST_CASE("Sixteen times the cycles, sixteen times the interval") {
  Problem problem = lowered("blackwell-fwd-sub2", "blackwell", "softmax-correction", 0);
  for (Op& op : problem.ops) {
    op.cycles *= 16;
    op.spill *= 16;
    for (Reservation& r : op.reservations) r.length *= 16;
  }
  for (Edge& e : problem.edges) {
    e.delay *= 16;
    e.hold *= 16;
  }
  CHECK(solved(problem).schedule->initiation_interval == 16 * 2436);
}

TEST_CASE("The engines agree on attention at coarse cycles") {
  for (const char* kernel :
       {"blackwell-fwd-plain", "blackwell-bwd", "blackwell-fwd-sub2-chunked"}) {
    CAPTURE(kernel);
    const Problem problem = lowered(kernel, "blackwell", "", 60);
    Options options;
    options.engine = "time_indexed";
    const Solution cnf = solved(problem, options);
    CHECK(cnf.engine == "time_indexed");
    options.engine = "order";
    const Solution order = solved(problem, options);
    CHECK(order.schedule->initiation_interval == cnf.schedule->initiation_interval);
    CHECK(order.schedule->length == cnf.schedule->length);
  }
}

TEST_CASE("The backward graphs reach their bounds") {
  for (const auto& [kernel, machine, layout] : {std::tuple{"hopper-bwd", "hopper", "1x8"},
                                                {"blackwell-bwd", "blackwell", "8+4"},
                                                {"blackwell-bwd-sub2", "blackwell", ""}}) {
    CAPTURE(kernel);
    const Problem problem = lowered(kernel, machine, layout, 150);
    const Solution solution = solved(problem);
    CHECK(solution.schedule->initiation_interval == lower_bounds(problem).front().value);
  }
}

}  // namespace attention_test
