// Waits beside units that are hardly idle: the clauses refute no schedule, and they bind.
#include <doctest/doctest.h>

#include "engine/order/incremental_solver.hpp"
#include "engine/order/order.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/divide.hpp"
#include "graph/problem_io.hpp"
#include "graph/verify.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

namespace full_units_test {

using namespace twill;
using namespace twill::test;

namespace {

// The least I at which the unit can hold all segments; 0 = nothing uses it.
Cycle filled(const Problem& problem, int unit) {
  Amount area = 0;
  for (const Op& op : problem.ops)
    for (const Reservation& r : op.reservations)
      if (r.unit == unit) area += r.length * r.amount;
  return ceil_divide(area, problem.units[static_cast<std::size_t>(unit)].capacity);
}

// By a formula that has the clauses from the beginning, made for an I that is greater by `above`.
Answer at_interval(const Problem& problem, Cycle ii, std::uint64_t seed, Cycle above = 0) {
  const EncodingChoice choice;
  Budget budget({}, 0, 0, 0);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  const Search search{problem, choice, seed, budget, report, order_engine()};
  OrderRequest request = order::request_of(search, true);
  request.ii_low = ii;
  request.ii_high = request.full_units.ii = ii + above;
  return order::IncrementalSolver(search, std::move(request)).look(ii, 0, 0);
}

// An op that fills a unit for three cycles, and ops that wait for it, all on one slot.
Problem beside_three(std::vector<Cycle> waiters, bool variable_latency) {
  Problem problem;
  problem.name = "beside";
  problem.units.push_back({"U", 1});
  problem.warps.push_back({"w", 1, 0, variable_latency});
  const auto add = [&](Cycle cycles) {
    Op op;
    op.id = "op" + std::to_string(problem.ops.size());
    op.cycles = cycles;
    op.variable_latency = variable_latency;
    problem.ops.push_back(op);
  };
  add(3);
  problem.ops[0].reservations.push_back({0, 0, 3, 1});
  for (const Cycle cycles : waiters) {
    add(cycles);
    Edge edge;
    edge.to = static_cast<int>(problem.ops.size()) - 1;
    edge.delay = 3;
    edge.blocking = true;
    problem.edges.push_back(edge);
  }
  return problem;
}

}  // namespace

TEST_CASE("waits beside full units, beside enumeration") {
  int found = 0, none = 0, by_waits = 0, full_found = 0, ranges = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.min_ops = 3;
    knobs.max_ops = 4;
    knobs.max_units = 2;
    knobs.max_memories = 0;
    knobs.max_registers = 2;
    knobs.max_spill = 2;
    knobs.max_distance = 1;
    knobs.identical_slots = seed % 2 == 0;
    knobs.variable_latency_slot = seed % 3 == 0;
    knobs.zero_cycle_ops = seed % 4 < 2;
    knobs.multi_segment = seed % 5 == 0;
    knobs.pipelined_units = seed % 5 < 2;
    const Problem problem = random_loop(seed, knobs);
    if (problem.units.empty()) continue;
    Problem patient = problem;  // nobody waits
    for (Edge& e : patient.edges) e.blocking = false;
    for (Op& op : patient.ops) op.spill = 0;
    const Cycle full = filled(problem, 0);
    const auto least = rec_mii(problem, true);
    for (Cycle ii = full; ii <= std::min<Cycle>(full + 1, 6); ++ii) {
      CAPTURE(ii);
      if (ii < 1 || (least && ii < least->value)) continue;
      const Cycle above =
          order_range_allowed(problem, ii, ii + 1) ? static_cast<Cycle>(seed % 2) : 0;
      ranges += above > 0;
      const Answer answer = at_interval(problem, ii, seed % 2, above);
      REQUIRE(answer.verdict != Verdict::unknown);
      if (answer.schedule) {
        ++found;
        full_found += ii == full;
        CHECK_FALSE(verify(problem, *answer.schedule));
        continue;
      }
      ++none;
      if (brute_force_at(problem, ii, 3))
        FAIL_CHECK("a schedule is refuted\n" << problem_text(problem));
      by_waits += brute_force_at(patient, ii, 3).has_value();
    }
  }
  CHECK(found > 1000);
  CHECK(full_found > 400);
  CHECK(none > 300);
  CHECK(by_waits > 100);
  CHECK(ranges > 300);
}

TEST_CASE("what waits beside a unit costs a cycle of it, but for what is exempt") {
  const auto found = [](const Problem& problem, Cycle ii) {
    const bool schedule = at_interval(problem, ii, 0).verdict == Verdict::sat;
    CHECK(schedule == brute_force_at(problem, ii, 3).has_value());
    return schedule;
  };
  // One that waits takes the idle cycle, two with cycles of their own take two,
  CHECK_FALSE(found(beside_three({1}, false), 3));
  CHECK(found(beside_three({1}, false), 4));
  CHECK_FALSE(found(beside_three({1, 1}, false), 4));
  CHECK(found(beside_three({1, 1}, false), 5));
  // two of no cycles the same one, and none what may wait without stopping its slot.
  CHECK_FALSE(found(beside_three({0, 0}, false), 3));
  CHECK(found(beside_three({0, 0}, false), 4));
  CHECK(found(beside_three({1, 1}, true), 3));
  // Where the idle cycle is one, one of two may wait there, the other on another slot.
  Problem parted = beside_three({1, 1}, false);
  parted.warps.push_back({"x", 1, 0, false});
  for (const int op : {0, 1}) parted.pins.push_back({Pin::on_slot, op, 0, -1, -1});
  CHECK_FALSE(found(parted, 3));
  CHECK(found(parted, 4));
  parted.pins.push_back({Pin::on_slot, 2, 0, -1, -1});
  CHECK_FALSE(found(parted, 4));
  CHECK(found(parted, 5));
}

TEST_CASE("a search that is long gets them, one that is not does without") {
  // The unit is never idle at I = 3, and one op waits: both ways there is none at I = 3. With the
  // clauses from the beginning the formula has more of them.
  const Problem problem = beside_three({1}, false);
  Budget budget({}, 0, 0, 0);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  const EncodingChoice choice;
  const Search search{problem, choice, 0, budget, report, order_engine()};
  OrderRequest request = order::request_of(search, true);
  request.ii_low = request.ii_high = 3;
  const auto clauses = [&](Cycle ii) {
    OrderRequest one = request;
    one.full_units.ii = ii;
    MemoryCnf cnf;
    Formula formula(cnf);
    OrderEncoding encoding(formula, problem, one, choice);
    CHECK(encoding.has_full_units(3));
    CHECK_FALSE(encoding.has_full_units(2));  // too small for the unit: nothing is said
    if (ii > 0) encoding.add_full_units(ii);
    return cnf.clauses();
  };
  CHECK(clauses(0) < clauses(3));
}

}  // namespace full_units_test
