// Does any schedule exist? The serial problem and its initiation interval against exhaustive
// search.
#include "graph/bounds/serial.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/bounds/stage_bound.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/check.hpp"
#include "graph/verify.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

namespace serial_test {

using namespace twill;
using namespace twill::test;

namespace {

LoopKnobs tiny() {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  knobs.max_spill = 2;
  knobs.always_placeable = false;
  return knobs;
}

std::optional<Schedule> schedule_at(const Problem& p, Cycle ii, Cycle stages = 0) {
  const Cycle enough = stage_bound(p, ii);
  return brute_force_at(p, ii, stages > 0 ? std::min(stages, enough) : enough);
}

}  // namespace

TEST_CASE("the serial interval is the sum of what each op can keep the others waiting") {
  Problem p;
  p.units = {{"u", 1}};
  p.warps = {{"w", 1, 8, false}};
  p.ops.resize(3);
  p.ops[0].id = "a";
  p.ops[0].cycles = 5;
  p.ops[1].id = "b";
  p.ops[1].cycles = 2;
  p.ops[1].spill = 3;
  p.ops[2].id = "c";
  CHECK(serial_ii(p) == 5 + 2 + 1);
  p.edges.push_back({1, 2, 4, 0, false, 0});  // delay and spill: 7
  CHECK(serial_ii(p) == 5 + 7 + 1);
  p.edges.push_back({0, 2, 1, 1, false, 9});  // hold of an edge into c
  CHECK(serial_ii(p) == 5 + 7 + 9);
}

TEST_CASE("the serial problem keeps what is zero and what is positive") {
  int monotone = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Problem p = random_loop(seed);
    const SerialProblem serial = serial_problem(p);
    const Problem& q = serial.problem;
    CHECK_NOTHROW(check(q));
    CHECK(serial.ii == serial_ii(q));
    CHECK(serial.ii <= serial_ii(p));
    CHECK(monotone_in_ii(q) == monotone_in_ii(p));
    monotone += monotone_in_ii(p);
    for (std::size_t v = 0; v < p.ops.size(); ++v) {
      CHECK(q.ops[v].spill == (p.ops[v].spill > 0));
      if (monotone_in_ii(p))
        CHECK(q.ops[v].cycles == (p.ops[v].cycles > 0));
      else
        CHECK(q.ops[v].reservations == p.ops[v].reservations);
    }
    for (std::size_t e = 0; e < p.edges.size(); ++e) {
      CHECK(q.edges[e].delay == (p.edges[e].delay > 0));
      CHECK(q.edges[e].hold == (p.edges[e].hold > 0));
      CHECK(q.edges[e].distance == p.edges[e].distance);
      CHECK(q.edges[e].blocking == p.edges[e].blocking);
    }
  }
  CHECK(monotone > 50);
  CHECK(monotone < 250);
}

TEST_CASE("feasible at the serial interval, and above it, if and only if feasible at any") {
  int feasible = 0, infeasible = 0;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    CAPTURE(seed);
    const Problem p = random_loop(seed, tiny());
    const Cycle serial = serial_ii(p);
    const bool there = schedule_at(p, serial).has_value();
    ++(there ? feasible : infeasible);
    for (Cycle ii = 1; ii < serial; ++ii)
      if (schedule_at(p, ii)) {
        CHECK(there);
        break;
      }
    for (Cycle ii = serial + 1; ii <= serial + 2; ++ii)
      CHECK(schedule_at(p, ii).has_value() == there);
  }
  CHECK(feasible > 200);
  CHECK(infeasible > 50);
}

TEST_CASE("with as many stages as a schedule at any interval has") {
  int deep = 0;
  for (std::uint64_t seed = 1000; seed < 2000; ++seed) {
    CAPTURE(seed);
    const Problem p = random_loop(seed, tiny());
    const Cycle serial = serial_ii(p);
    for (Cycle stages = 1; stages <= 3; ++stages) {
      bool any = false;
      for (Cycle ii = 1; ii < serial && !any; ++ii) any = schedule_at(p, ii, stages).has_value();
      const bool there = schedule_at(p, serial, stages).has_value();
      if (any) CHECK(there);
      if (there && stages > 1 && !schedule_at(p, serial, stages - 1)) ++deep;
    }
  }
  CHECK(deep > 8);  // loops for which the number of stages decides
}

TEST_CASE("the serial problem decides, for every number of stages") {
  int feasible = 0, infeasible = 0;
  for (std::uint64_t seed = 2000; seed < 2600; ++seed) {
    CAPTURE(seed);
    const Problem p = random_loop(seed, tiny());
    const SerialProblem serial = serial_problem(p);
    for (Cycle stages = 0; stages <= 2; ++stages) {
      CAPTURE(stages);
      const bool there = schedule_at(p, serial_ii(p), stages).has_value();
      CHECK(schedule_at(serial.problem, serial.ii, stages).has_value() == there);
      ++(there ? feasible : infeasible);
    }
  }
  CHECK(feasible > 600);
  CHECK(infeasible > 150);
}

TEST_CASE("the orders of a serial schedule lift to the problem") {
  int lifted = 0, longer = 0;
  for (std::uint64_t seed = 3000; seed < 4500; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs = tiny();
    knobs.max_ops = 4;
    knobs.max_cycles = 6;
    knobs.multi_segment = seed % 2 == 0;
    const Problem p = random_loop(seed, knobs);
    const SerialProblem serial = serial_problem(p);
    const auto order = schedule_at(serial.problem, serial.ii);
    if (!order) continue;
    const Cycle last = serial_ii(p);
    const auto at_last = tighten(p, serial.problem, *order, last, last);
    // Behind an offset, a longer delay may turn an order around: no promise then.
    if (!monotone_in_ii(p) && !at_last) continue;
    REQUIRE(at_last);
    CHECK_FALSE(verify(p, *at_last));
    CHECK(at_last->initiation_interval == last);
    CHECK(stage_count(*at_last) <= stage_count(*order));
    ++lifted;
    if (!monotone_in_ii(p)) continue;
    const auto best = tighten(p, serial.problem, *order, 1, last);
    REQUIRE(best);
    CHECK_FALSE(verify(p, *best));
    CHECK(best->initiation_interval <= last);
    longer += best->initiation_interval < last;
  }
  CHECK(lifted > 700);
  CHECK(longer > 200);
}

}  // namespace serial_test
