// Deadlines that leave some op no place, and weights of amounts on units: no bound is above the
// truth, and the certificate counts to the same.
#include "graph/bounds/destructive.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "engine/certificate/counting.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/index.hpp"
#include "tests/graph/bounds/beside_truth.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace destructive_test {

using namespace twill;
using namespace twill::test;

namespace {

int add_op(Problem& problem, int unit, Cycle cycles, Cycle busy, Amount amount) {
  Op& op = problem.ops.emplace_back();
  op.id = "v" + std::to_string(problem.ops.size());
  op.cycles = cycles;
  op.reservations = {{unit, 0, busy, amount}};
  return static_cast<int>(problem.ops.size()) - 1;
}

void then(Problem& problem, int from, int to, bool turned, int distance = 0) {
  Edge& edge = problem.edges.emplace_back();
  edge.from = turned && distance == 0 ? to : from;
  edge.to = turned && distance == 0 ? from : to;
  edge.delay = problem.ops[at(edge.from)].cycles;
  edge.distance = distance;
}

/// Jobs: a load, which leaves its unit before it has ended, perhaps an op after it, and an op on a
/// unit that all need; or the same from the end to the begin.
Problem fed(std::uint64_t seed, int jobs, Cycle most_cycles) {
  Random random(seed);
  Problem problem;
  problem.name = "fed";
  problem.units = {{"LOAD", 1}, {"SFU", random.percent(20) ? 3 : 1}, {"ALU", 2}};
  problem.warps = {{"w", 1, 100, false}};
  const bool turned = random.percent(30);
  for (int k = 0; k < jobs; ++k) {
    const Cycle load = random.range(1, most_cycles);
    int last = -1;
    if (!random.percent(20))
      last = add_op(problem, 0, load, random.percent(50) ? (load + 1) / 2 : load, 1);
    if (random.percent(30)) {
      const Cycle cycles = random.range(1, most_cycles);
      const int next = add_op(problem, 2, cycles, cycles, random.range(1, 2));
      if (last >= 0) then(problem, last, next, turned);
      last = next;
    }
    const Cycle cycles = random.range(1, most_cycles);
    const int next = add_op(problem, 1, cycles, cycles, random.range(1, problem.units[1].capacity));
    if (last >= 0) then(problem, last, next, turned);
    if (random.percent(10)) then(problem, next, std::max(0, last), turned, 1);
  }
  return problem;
}

/// Ops of one to three instances, of four.
Problem wide(std::uint64_t seed, int most_ops, Cycle most_cycles) {
  Random random(seed);
  Problem problem;
  problem.name = "wide";
  problem.units = {{"ALU", random.range(3, 5)}};
  problem.warps = {{"w", 1, 100, false}};
  const auto ops = static_cast<int>(random.range(3, most_ops));
  for (int v = 0; v < ops; ++v) {
    const Cycle cycles = random.range(1, most_cycles);
    add_op(problem, 0, cycles, cycles, random.range(1, 3));
    if (v > 0 && random.percent(20))
      then(problem, static_cast<int>(random.range(0, v - 1)), v, false);
  }
  return problem;
}

bool by_deadline(const std::vector<Bound>& bounds) {
  return !bounds.empty() && bounds.front().name == "deadline";
}

}  // namespace

TEST_CASE("bounds by deadlines are never above the shortest of all schedules") {
  BesideTruth beside;
  for (std::uint64_t seed = 1; seed <= 4'000; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 8 == 0 ? wide(seed, 5, 4) : fed(seed, 3, 5);
    for (const Cycle ii : {12, 40}) {
      const std::vector<Bound> bounds = length_bounds(problem, ii);
      const auto alone = destructive_bound(problem, ii, 0);
      const bool higher = by_deadline(bounds);
      if (bounds.empty() || (!higher && seed % 16 != 0)) continue;
      if (beside.compare(problem, ii, bounds.front().value, higher, 300'000) && alone)
        REQUIRE(alone->value <= beside.least);
    }
  }
  CHECK(beside.compared > 200);
  CHECK(beside.raised > 50);
  CHECK(beside.met > 30);
}

TEST_CASE("larger loops: no schedule is shorter, and the certificate counts as far") {
  int used = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    CAPTURE(seed);
    const Problem problem = fed(seed, 4 + static_cast<int>(seed % 4), 40);
    const std::vector<Bound> bounds = bounds_beside_found(problem);
    used += by_deadline(bounds);
  }
  CHECK(used > 5);
}

TEST_CASE("no schedule is below what weights of amounts ask for on a unit") {
  int raised = 0, met = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    CAPTURE(seed);
    const Problem problem = wide(seed, 4, 4);
    const Bound bound = res_mii(problem).front();
    if (bound.text.find("weights") == std::string::npos) continue;
    ++raised;
    REQUIRE(bound.value > 1);
    for (Cycle ii = 1; ii < bound.value; ++ii) REQUIRE_FALSE(brute_force_at(problem, ii, 3));
    CHECK(interval_counted_out(problem, bound.value - 1));
    if (!brute_force_at(problem, bound.value, 3)) continue;
    ++met;
    CHECK_FALSE(interval_counted_out(problem, bound.value));
  }
  CHECK(raised > 50);
  CHECK(met > 30);
}

TEST_CASE("the first op of a unit that is never idle keeps the loads of the next ones waiting") {
  // x waits for 5 cycles of load, which leaves its unit after 4. Where x is first, y and z begin at
  // 7 at the soonest and x has ended at 6; where y is first, 3 cycles of the unit are over.
  Problem problem;
  problem.units = {{"LOAD", 1}, {"SFU", 1}};
  problem.warps = {{"w", 1, 0, false}};
  const int x = add_op(problem, 0, 3, 3, 1), y = add_op(problem, 0, 5, 2, 1);
  const int z = add_op(problem, 0, 6, 2, 1);
  for (const int load : {x, y, z}) then(problem, load, add_op(problem, 1, 3, 3, 1), false);
  const Cycle ii = 40;
  const std::vector<Bound> plain = plain_length_bounds(problem, ii);
  const std::vector<Bound> all = length_bounds(problem, ii);
  REQUIRE(plain.front().value == 12);  // 3 + 3 x 3
  Options options;
  options.ii = ii;
  options.threads = 1;
  options.evidence = true;
  const Solution solution = solve(problem, options);
  REQUIRE(solution.status == Status::optimal);
  CHECK(solution.schedule->length == 14);
  CHECK(all.front().value == 14);
  CHECK(length_counted_out(problem, ii, 13));
  CHECK_FALSE(length_counted_out(problem, ii, 14));
  const TemporaryDirectory directory;
  write_certificate(directory / "c", problem, solution);
  const CertificateReport report = check_certificate(directory / "c");
  CHECK(report.refusal == "");
  CHECK(report.accepted);
}

TEST_CASE("loops around a hidden schedule of which these bounds are more than all others") {
  HiddenKnobs knobs;
  knobs.ops = 200;
  knobs.filled = 60;
  const HiddenLoop first = hidden_loop(knobs);
  const Cycle sfu = 22'772;
  CHECK(lower_bounds(first.problem).front().value == sfu);
  CHECK(plain_length_bounds(first.problem, sfu).front().value == 23'345);
  CHECK(length_bounds(first.problem, sfu).front().value == 23'421);
  CHECK(length_counted_out(first.problem, sfu, 23'420));
  CHECK_FALSE(length_counted_out(first.problem, sfu, 23'421));  // there is one
  knobs.seed = 6;
  const HiddenLoop sixth = hidden_loop(knobs);
  const Cycle alu = 22'038;  // of the ops of three instances, and half of those of two; SFU: 21,525
  CHECK(lower_bounds(sixth.problem).front().value == alu);
  CHECK(interval_counted_out(sixth.problem, alu - 1));
  CHECK_FALSE(interval_counted_out(sixth.problem, alu));
}

}  // namespace destructive_test
