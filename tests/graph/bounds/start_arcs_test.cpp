// What arithmetic says about starts and intervals before any search excludes no schedule, and what
// it leaves of large loops is what the clauses of every stage would leave.
#include "graph/bounds/start_arcs.hpp"

#include <doctest/doctest.h>

#include <new>
#include <stop_token>

#include "engine/budget.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/next_interval.hpp"
#include "graph/divide.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

namespace start_arcs_test {

using namespace twill;
using namespace twill::test;

namespace {

/// Tiny loops, in some of which ops are pinned to cycles or stages.
Problem tiny_loop(std::uint64_t seed) {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  Problem problem = random_loop(seed, knobs);
  Random random(seed);
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    if (random.percent(30)) problem.pins.push_back({Pin::at_cycle, v, -1, random.range(0, 9), -1});
  Random stages(seed + 1'000'000);
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    if (stages.percent(15))
      problem.pins.push_back({Pin::at_stage, v, -1, -1, -1, stages.range(0, 2)});
  try {
    check(problem);
  } catch (const InputError&) {
    problem.pins.clear();
  }
  return problem;
}

}  // namespace

TEST_CASE("the constraints between starts exclude no schedule") {
  int with_pins = 0, with_stages = 0, refuted = 0, bounded = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const Problem problem = tiny_loop(seed);
    const StartArcs arcs(problem);
    const Cycle least = arcs.least_interval(1, 12), bound = lower_bounds(problem).front().value;
    with_pins += latest_pinned_cycle(problem) > 0;
    with_stages += last_pinned_stage(problem) > 0;
    for (Cycle ii = 1; ii <= 8; ++ii) {
      CAPTURE(ii);
      const auto best = brute_force_at(problem, ii, 3);
      const auto earliest = arcs.earliest(ii);
      refuted += !earliest;
      if (!best) continue;
      CHECK(ii >= least);
      CHECK(ii >= bound);
      CHECK(next_interval(problem, ii, 100) == ii);
      REQUIRE(earliest);
      const std::vector<Cycle> latest = arcs.latest(ii, 3 * ii - 1);
      for (std::size_t v = 0; v < problem.ops.size(); ++v) {
        CHECK(best->start[v] >= (*earliest)[v]);
        CHECK(best->start[v] <= latest[v]);
        bounded += (*earliest)[v] > 0 || latest[v] < 3 * ii - 1;
      }
      CHECK(length_bounds(problem, ii).front().value <= best->length);
    }
  }
  CHECK(with_pins > 50);
  CHECK(with_stages > 50);
  CHECK(refuted > 100);
  CHECK(bounded > 500);
}

TEST_CASE("an op alone fits as a count of every residue says") {
  int fits = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Problem problem;
    problem.units = {{"u", random.range(1, 3)}};
    Op op;
    op.cycles = 40;
    for (Cycle k = random.range(1, 5); k > 0; --k)
      op.reservations.push_back({0, random.range(0, 20), random.range(1, 20), random.range(1, 2)});
    problem.ops.push_back(op);
    for (Cycle ii = 1; ii <= 45; ++ii) {
      bool expected = true;
      for (Cycle residue = 0; residue < ii; ++residue) {
        Amount used = 0;
        for (const Reservation& r : op.reservations)
          for (Cycle t = r.offset; t < r.offset + r.length; ++t)
            used += mod(t, ii) == residue ? r.amount : 0;
        expected = expected && used <= problem.units[0].capacity;
      }
      CHECK(reservation_fits(problem, 0, ii) == expected);
      fits += expected;
    }
  }
  CHECK(fits > 1000);
}

TEST_CASE("many stages: windows of them leave what all of them leave") {
  int long_ones = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.max_ops = 4;
    Problem problem = random_loop(seed, knobs);
    Random random(seed + 1);
    for (Edge& edge : problem.edges) {
      if (random.percent(40)) edge.delay *= 60;
      if (random.percent(30)) edge.distance *= 80;
      if (random.percent(10)) edge.hold *= 70;
    }
    Options options;
    options.time_limit = 20;
    options.explain = false;
    const Solution order = solve(problem, options);
    options.engine = "time_indexed";
    const Solution cnf = solve(problem, options);
    if (cut_short(order.stop) || cut_short(cnf.stop)) continue;
    CHECK(order.status == cnf.status);
    REQUIRE(order.schedule.has_value() == cnf.schedule.has_value());
    if (!order.schedule) continue;
    CHECK(order.schedule->initiation_interval == cnf.schedule->initiation_interval);
    CHECK(order.schedule->length == cnf.schedule->length);
    long_ones += stage_count(*order.schedule) > 64;
  }
  CHECK(long_ones > 3);
}

TEST_CASE("a budget has room or is spent, and what the system refuses counts as spent") {
  Budget none({}, 0, 0, 0);
  CHECK(none.room_for(std::int64_t{1} << 60));
  Budget small({}, 0, 0, std::int64_t{1} << 40);
  CHECK(small.room_for(1 << 20));
  Budget lane(small, {});
  CHECK_FALSE(lane.room_for(std::int64_t{1} << 41));
  CHECK(small.spent());
  CHECK(small.reason() == Stop::memory_limit);
  CHECK_FALSE(small.room_for(1));

  Budget refused({}, 0, 0, 0);
  CHECK(refused.complete([] {}));
  CHECK_FALSE(refused.complete([] { throw std::bad_alloc(); }));
  CHECK(refused.reason() == Stop::memory_limit);
  CHECK_FALSE(Budget({}, 0, 0, 0).complete([] { throw Budget::Spent{}; }));
  CHECK(default_memory_limit() > resident_memory());
}

}  // namespace start_arcs_test
