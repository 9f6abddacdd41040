// Two units in a row: no bound is above the truth, and the certificate counts to the same.
#include "graph/bounds/two_units.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/certificate/counting.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/index.hpp"
#include "tests/graph/bounds/beside_truth.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace two_units_test {

using namespace twill;
using namespace twill::test;

namespace {

/// Ops over few units, most of them in chains, some results carried, some ops in two segments.
Problem rows(std::uint64_t seed, int most_ops, Cycle most_cycles) {
  Random random(seed);
  Problem problem;
  problem.name = "rows";
  const int units = static_cast<int>(random.range(2, 3));
  for (int f = 0; f < units; ++f)
    problem.units.push_back({"U" + std::to_string(f), random.percent(20) ? 2 : 1});
  problem.warps = {{"w", 1, 100, false}};
  const int ops = static_cast<int>(random.range(4, most_ops));
  for (int v = 0; v < ops; ++v) {
    Op& op = problem.ops.emplace_back();
    op.id = "v" + std::to_string(v);
    op.cycles = random.range(1, most_cycles);
    const int unit = v % 2 == 0 ? 0 : static_cast<int>(random.range(0, units - 1));
    op.reservations = {{unit, 0, op.cycles, random.range(1, problem.units[at(unit)].capacity)}};
    if (op.cycles > 2 && random.percent(15)) {
      op.reservations.front().length = 1;
      op.reservations.push_back({unit, 2, op.cycles - 2, 1});
    } else if (op.cycles > 1 && random.percent(15)) {
      op.reservations.front().offset = 1;
      op.reservations.front().length = op.cycles - 1;
    }
    if (v == 0 || random.percent(30)) continue;
    Edge& edge = problem.edges.emplace_back();
    edge.from = static_cast<int>(random.range(std::max(0, v - 2), v - 1));
    edge.to = v;
    edge.delay = problem.ops[at(edge.from)].cycles + (random.percent(30) ? random.range(1, 3) : 0);
    edge.blocking = random.percent(10);
    if (random.percent(90)) continue;
    Edge& back = problem.edges.emplace_back();
    back.from = v;
    back.to = static_cast<int>(random.range(0, v));
    back.delay = random.range(0, op.cycles);
    back.distance = static_cast<int>(random.range(1, 2));
  }
  return problem;
}

/// Jobs that are not alike: reads on one unit, an op for each on another one, and one more for
/// all; or the same from the end to the begin.
Problem unlike_jobs(std::uint64_t seed, int jobs, int most_reads, Cycle most_cycles) {
  Random random(seed);
  Problem problem;
  problem.name = "unlike jobs";
  problem.units = {{"READ", 1}, {"ALU", random.percent(10) ? 2 : 1}};
  problem.warps = {{"w", 1, 100, false}};
  const bool turned = random.percent(40);
  const auto add = [&](int unit, Cycle cycles) {
    Op& op = problem.ops.emplace_back();
    op.id = "v" + std::to_string(problem.ops.size());
    op.cycles = cycles;
    op.reservations = {{unit, 0, cycles, 1}};
    return static_cast<int>(problem.ops.size()) - 1;
  };
  const auto then = [&](int first, int second) {
    Edge& edge = problem.edges.emplace_back();
    edge.from = turned ? second : first;
    edge.to = turned ? first : second;
    edge.delay = problem.ops[at(edge.from)].cycles + (random.percent(15) ? 1 : 0);
    edge.blocking = random.percent(5);
  };
  for (int k = 0; k < jobs; ++k) {
    std::vector<int> fed;
    for (std::int64_t reads = random.range(1, most_reads); reads > 0; --reads) {
      const int read = add(0, random.range(most_cycles / 2, most_cycles));
      fed.push_back(add(1, random.range(1, most_cycles / 2 + 1)));
      then(read, fed.back());
    }
    if (random.percent(30)) continue;
    const int last = add(1, random.range(1, 2 * most_cycles));
    for (const int v : fed) then(v, last);
  }
  return problem;
}

const Bound* by_two_units(const std::vector<Bound>& bounds) {
  const auto found = std::find_if(bounds.begin(), bounds.end(),
                                  [](const Bound& bound) { return bound.name == "two units"; });
  return found != bounds.end() ? &*found : nullptr;
}

/// Copies of: two reads of 4 cycles, an op for each of 2 on another unit, and then 13 cycles there.
Problem reads(int copies) {
  Problem problem;
  problem.name = "reads";
  problem.units = {{"READ", 1}, {"ALU", 1}};
  problem.warps = {{"w", 1, 0, false}};
  const auto add = [&](int unit, Cycle cycles, std::vector<int> after) {
    Op& op = problem.ops.emplace_back();
    op.id = "v" + std::to_string(problem.ops.size());
    op.cycles = cycles;
    op.reservations = {{unit, 0, cycles, 1}};
    const int v = static_cast<int>(problem.ops.size()) - 1;
    for (const int u : after) {
      Edge& edge = problem.edges.emplace_back();
      edge.from = u;
      edge.to = v;
      edge.delay = problem.ops[at(u)].cycles;
    }
    return v;
  };
  for (int k = 0; k < copies; ++k) {
    const int a = add(0, 4, {}), b = add(0, 4, {});
    const int c = add(1, 2, {a}), d = add(1, 2, {b});
    add(1, 13, {c, d});
  }
  return problem;
}

}  // namespace

TEST_CASE("bounds by two units are never above the shortest of all schedules") {
  BesideTruth beside;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 3 == 0 ? rows(seed, 6, 5) : unlike_jobs(seed, 2, 2, 4);
    for (const Cycle ii : {9, 15, 30}) {
      const std::vector<Bound> bounds = length_bounds(problem, ii);
      const bool higher = by_two_units(bounds) != nullptr;
      const auto alone = two_unit_bound(problem, ii, 0);
      if (bounds.empty() || (!higher && seed % 16 != 0)) continue;
      if (beside.compare(problem, ii, bounds.front().value, higher, 300'000) && alone)
        REQUIRE(alone->value <= beside.least);
    }
  }
  CHECK(beside.compared > 100);
  CHECK(beside.raised > 40);
  CHECK(beside.met > 20);
}

TEST_CASE("larger loops: no schedule is shorter, and the certificate counts as far") {
  int used = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 4 == 0
                                ? rows(seed, 16, 40)
                                : unlike_jobs(seed, 2 + static_cast<int>(seed % 3), 3, 40);
    const std::vector<Bound> bounds = bounds_beside_found(problem);
    used += by_two_units(bounds) != nullptr;
  }
  CHECK(used > 5);
}

TEST_CASE("what two reads leave idle is counted, and has a certificate") {
  // The first read lets 2 cycles of the other unit begin, and the next ends 4 later: 2 are idle.
  for (const int copies : {1, 2, 3, 4}) {
    const Problem problem = reads(copies);
    const Cycle ii = 100, least = 4 + 17 * copies + 2;
    CAPTURE(copies);
    const std::vector<Bound> bounds = length_bounds(problem, ii);
    CHECK(bounds.front().value == least);
    CHECK(length_counted_out(problem, ii, least - 1));
    CHECK_FALSE(length_counted_out(problem, ii, least));
    Options options;
    options.ii = ii;
    options.threads = 1;
    options.evidence = true;
    const Solution solution = solve(problem, options);
    REQUIRE(solution.status == Status::optimal);
    CHECK(solution.schedule->length == least);
    const TemporaryDirectory directory;
    write_certificate(directory / "c", problem, solution);
    const CertificateReport report = check_certificate(directory / "c");
    CHECK(report.refusal == "");
    CHECK(report.accepted);
  }
}

}  // namespace two_units_test
