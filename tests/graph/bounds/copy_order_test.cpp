// Copies in order: the order costs no schedule its length, no bound is above the truth, and the
// certificate counts to the same.
#include "graph/bounds/copy_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/certificate/counting.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/index.hpp"
#include "graph/unroll.hpp"
#include "tests/graph/bounds/beside_truth.hpp"
#include "tests/support/every_schedule.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace copy_order_test {

using namespace twill;
using namespace twill::test;

namespace {

/// Loops without carried results: their copies do not depend on each other.
LoopKnobs independent(int ops, Cycle cycles) {
  LoopKnobs knobs;
  knobs.min_ops = knobs.max_ops = ops;
  knobs.max_cycles = cycles;
  knobs.max_distance = 0;
  knobs.max_capacity = 2;
  knobs.max_units = 2;
  knobs.max_slots = 2;
  knobs.wide_ops = false;
  return knobs;
}

/// One job of a shop: a chain of ops over few units with lags, some of them waiting.
Problem shop(std::uint64_t seed, int least_ops, int most_ops, Cycle most_cycles) {
  Random random(seed);
  Problem problem;
  problem.name = "shop";
  const int units = static_cast<int>(random.range(1, 3));
  for (int f = 0; f < units; ++f)
    problem.units.push_back({"U" + std::to_string(f), random.range(0, 3) == 0 ? 2 : 1});
  const int slots = random.percent(70) ? 1 : 2;
  for (int w = 0; w < slots; ++w) problem.warps.push_back({"w" + std::to_string(w), 1, 100, false});
  const int ops = static_cast<int>(random.range(least_ops, most_ops));
  for (int v = 0; v < ops; ++v) {
    Op& op = problem.ops.emplace_back();
    op.id = "v" + std::to_string(v);
    op.cycles = random.range(1, most_cycles);
    op.registers = random.range(0, 2);
    op.spill = random.range(0, 2);
    Reservation& use = op.reservations.emplace_back();
    use.unit = static_cast<int>(random.range(0, units - 1));
    use.length = op.cycles;
    use.amount = random.range(1, problem.units[at(use.unit)].capacity);
    if (random.percent(10)) op.reservations.clear();
    if (v == 0) continue;
    Edge& edge = problem.edges.emplace_back();
    edge.from = random.percent(80) ? v - 1 : static_cast<int>(random.range(0, v - 1));
    edge.to = v;
    edge.delay = problem.ops[at(edge.from)].cycles + (random.percent(40) ? random.range(1, 3) : 0);
    edge.blocking = random.percent(20);
  }
  return problem;
}

Cycle largest(const Problem& problem, Cycle ii) {
  const std::vector<Bound> bounds = length_bounds(problem, ii);
  return bounds.empty() ? 0 : bounds.front().value;
}

bool by_copies(const Problem& problem, Cycle ii) {
  const std::vector<Bound> bounds = length_bounds(problem, ii);
  return !bounds.empty() && bounds.front().name == "copies";
}

/// Pinned to the only slot that it can be on, an op keeps its schedules, and is no longer like its
/// copies for whoever looks at names alone.
std::optional<Problem> singled_out(Problem problem) {
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    if (const std::vector<int> slots = allowed_slots(problem, v); slots.size() == 1) {
      Pin pin;
      pin.kind = Pin::on_slot;
      pin.op = v;
      pin.slot = slots.front();
      problem.pins.push_back(pin);
      return problem;
    }
  return std::nullopt;
}

/// Jobs that are alike: `first` cycles on one unit, a lag, `second` cycles on another, and `after`
/// cycles on the first again.
Problem jobs(int count, Cycle first, Cycle lag, Cycle second, Cycle after) {
  Problem problem;
  problem.name = "jobs";
  problem.units = {{"A", 1}, {"B", 1}};
  problem.warps = {{"w", 1, 0, false}};
  const auto add = [&](const std::string& id, int unit, Cycle cycles) {
    Op& op = problem.ops.emplace_back();
    op.id = id;
    op.cycles = cycles;
    op.reservations = {{unit, 0, cycles, 1}};
    return static_cast<int>(problem.ops.size()) - 1;
  };
  const auto edge = [&](int from, int to, Cycle delay) {
    Edge& e = problem.edges.emplace_back();
    e.from = from;
    e.to = to;
    e.delay = delay;
  };
  for (int k = 0; k < count; ++k) {
    const std::string name = std::to_string(k);
    const int a = add("a" + name, 0, first), b = add("b" + name, 1, second);
    edge(a, b, first + lag);
    if (after > 0) edge(b, add("c" + name, 0, after), second);
  }
  return problem;
}

}  // namespace

TEST_CASE("an order of copies costs no schedule its length") {
  int compared = 0, apart = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    CAPTURE(seed);
    // Results that hold nothing: the arcs of the order are dependences and no more.
    LoopKnobs knobs = independent(seed % 3 == 0 ? 1 : 2, 3);
    knobs.min_ops = 1;
    knobs.max_registers = 0;
    knobs.max_memories = 0;
    knobs.streaming = false;
    const Problem problem = unrolled(random_loop(seed, knobs), seed % 3 == 0 ? 3 : 2);
    for (const CopyOrder& order : copy_orders(problem)) {
      REQUIRE(order.ops.size() >= 2);
      Problem in_order = problem;
      for (std::size_t k = 1; k < order.ops.size(); ++k) {
        Edge& edge = in_order.edges.emplace_back();
        edge.from = order.ops[k - 1];
        edge.to = order.ops[k];
        edge.delay = order.apart;
        edge.spill = 0;
      }
      for (const Cycle ii : {4, 7}) {
        const Truth any = every_schedule(problem, {.stages = 3, .ii = ii}, 300'000);
        const Truth ordered = every_schedule(in_order, {.stages = 3, .ii = ii}, 300'000);
        if (!any.finished || !ordered.finished) continue;
        REQUIRE(any.best.has_value() == ordered.best.has_value());
        if (!any.best) continue;
        CHECK(any.best->length == ordered.best->length);
        ++compared;
        apart += order.apart > 0;
      }
    }
  }
  CAPTURE(compared);
  CAPTURE(apart);
  CHECK(compared > 1000);
  CHECK(apart > 300);
}

TEST_CASE("bounds by copies are never above the shortest of all schedules") {
  BesideTruth beside;
  for (std::uint64_t seed = 1; seed <= 6'000; ++seed) {
    CAPTURE(seed);
    const bool wild = seed % 4 == 0;
    const int copies = seed % 3 == 0 ? 3 : 2;
    const Problem problem = unrolled(
        wild ? random_loop(seed, independent(2, 4)) : shop(seed, 2, 5 - copies, 4), copies);
    for (const Cycle ii : {9, 14, 25}) {
      const bool higher = by_copies(problem, ii);
      if (!higher && seed % 32 != 0) continue;
      beside.compare(problem, ii, largest(problem, ii), higher, 400'000);
    }
  }
  CHECK(beside.compared > 500);
  CHECK(beside.raised > 120);
  CHECK(beside.met > 60);
}

TEST_CASE("larger loops: the same I and L as where copies have names") {
  Options some;
  some.threads = 1;
  some.conflict_limit = 4'000;
  int compared = 0, used = 0, only = 0;
  for (std::uint64_t seed = 1; seed <= 250; ++seed) {
    CAPTURE(seed);
    const Problem problem = unrolled(shop(seed, 2, 5, 40), 2 + static_cast<int>(seed % 4));
    const std::optional<Problem> named = singled_out(problem);
    if (!named) continue;
    const Solution found = solve(problem, some);
    if (!found.schedule) continue;
    const Cycle ii = found.schedule->initiation_interval;
    REQUIRE(found.schedule->length >= largest(problem, ii));
    CHECK(length_counted_out(problem, ii, largest(problem, ii) - 1));
    CHECK_FALSE(length_counted_out(problem, ii, found.schedule->length));
    if (!by_copies(problem, ii)) continue;
    ++used;
    const Solution truth = solve(*named, some);
    if (truth.schedule && truth.schedule->initiation_interval == ii)
      REQUIRE(largest(problem, ii) <= truth.schedule->length);
    only += found.status == Status::optimal && truth.status != Status::optimal;
    if (found.status != Status::optimal || truth.status != Status::optimal) continue;
    ++compared;
    CHECK(truth.schedule->initiation_interval == ii);
    CHECK(truth.schedule->length == found.schedule->length);
  }
  CAPTURE(compared);
  CAPTURE(used);
  CAPTURE(only);
  CHECK(compared > 2);
  CHECK(used > 7);
}

TEST_CASE("an optimum by copies has a certificate, and no shorter claim is accepted") {
  // A takes in all ops of three jobs without a pause unless the order of the jobs on B, 8 cycles
  // each, has it wait: three reads and a last step on A, 4 cycles each, around a lag of 1.
  Problem problem = jobs(4, 12, 1, 4, 4);
  for (int k = 0; k < 4; ++k) {
    // The last step of A is stored by B, which takes twice as long.
    Op& store = problem.ops.emplace_back();
    store.id = "d" + std::to_string(k);
    store.cycles = 8;
    store.reservations = {{1, 0, 8, 1}};
    Edge& edge = problem.edges.emplace_back();
    edge.from = 3 * k + 2;
    edge.to = static_cast<int>(problem.ops.size()) - 1;
    edge.delay = 4;
  }
  REQUIRE(by_copies(problem, 80));
  Options options;
  options.ii = 80;
  options.threads = 1;
  options.evidence = true;
  const Solution solution = solve(problem, options);
  REQUIRE(solution.status == Status::optimal);
  CHECK(solution.schedule->length >= largest(problem, 80));
  const TemporaryDirectory directory;
  write_certificate(directory / "c", problem, solution);
  const CertificateReport report = check_certificate(directory / "c");
  CHECK(report.refusal == "");
  CHECK(report.accepted);
  CHECK(length_counted_out(problem, 80, largest(problem, 80) - 1));
  CHECK_FALSE(length_counted_out(problem, 80, solution.schedule->length));
}

}  // namespace copy_order_test
