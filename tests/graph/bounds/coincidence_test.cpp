// Ops that start together (graph/bounds/coincidence.hpp): any schedule stays one when they do.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/bounds/coincidence.hpp"
#include "graph/index.hpp"
#include "graph/io/builtin.hpp"
#include "graph/lower.hpp"
#include "graph/ring_depth.hpp"
#include "graph/verify.hpp"
#include "tests/support/all_starts.hpp"
#include "tests/support/lowering.hpp"
#include "tests/support/random_loop.hpp"

namespace coincidence_test {

using namespace twill;
using namespace twill::test;

namespace {

/// Mostly loads, views and allocations: ops without cycles, delays and spills.
Problem light_loop(std::uint64_t seed) {
  LoopKnobs knobs;
  knobs.min_ops = 3;
  knobs.max_ops = 4;
  knobs.max_slots = 2;
  knobs.max_cycles = 2;
  knobs.max_registers = 2;
  knobs.max_spill = 1;
  knobs.multi_segment = false;
  Problem p = seed % 2 == 0 ? random_loop(seed, knobs) : ring_loop(seed, knobs);
  Random random(seed + 77);
  for (Op& op : p.ops) {
    if (random.percent(60)) {
      op.cycles = 0;
      op.reservations.clear();
    }
    if (random.percent(70)) op.spill = 0;
    if (random.percent(60)) op.registers = 0;
    if (random.percent(60)) op.footprints.clear();
  }
  for (Edge& e : p.edges) {
    if (p.ops[at(e.from)].cycles == 0 && random.percent(90)) e.delay = 0;
    if (random.percent(50)) e.blocking = false;
    if (random.percent(50)) e.hold = 0;
  }
  for (WarpSlot& slot : p.warps) slot.registers = random.range(1, 4);
  for (Memory& memory : p.memories) memory.capacity = random.range(1, 4);
  if (random.percent(10)) p.pins.push_back({Pin::at_cycle, 0, -1, random.range(0, 2), -1});
  return p;
}

Schedule together(const Problem& problem, const std::vector<int>& leader, Schedule schedule) {
  for (std::size_t v = 0; v < leader.size(); ++v) schedule.start[v] = schedule.start[at(leader[v])];
  schedule.length = schedule_length(problem, schedule.start);
  return schedule;
}

/// Op 0 leads to op 1, which executes for `cycles` and leads back to it in the next iteration.
Problem chain(Cycle cycles = 1) {
  Problem p;
  p.name = "chain";
  p.units = {{"U", 1}};
  p.memories = {{"M", 10, false}};
  p.warps.resize(1);
  p.warps[0].name = "w";
  p.warps[0].registers = 10;
  p.ops.resize(2);
  p.ops[0].id = "a";
  p.ops[1].id = "b";
  p.ops[1].cycles = cycles;
  p.ops[1].reservations = {{0, 0, cycles, 1}};
  p.edges = {{0, 1, 0, 0, false, 0}};
  return p;
}

using Leaders = std::vector<int>;

}  // namespace

TEST_CASE("every schedule of tiny loops stays one when ops start with their leaders") {
  int schedules = 0, moved = 0, loops = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Problem problem = light_loop(seed);
    const std::vector<int> leader = leaders(problem);
    const int ops = static_cast<int>(problem.ops.size());
    int followers = 0;
    for (int v = 0; v < ops; ++v) {
      REQUIRE(leader[at(leader[at(v)])] == leader[at(v)]);
      followers += leader[at(v)] != v;
    }
    if (followers == 0) continue;
    ++loops;
    Random random(seed);
    for (Cycle ii = 1; ii <= 3; ++ii)
      for (int slots = 0; slots < 2; ++slots) {
        Schedule schedule;
        schedule.initiation_interval = ii;
        for (int v = 0; v < ops; ++v) {
          const std::vector<int> allowed = allowed_slots(problem, v);
          schedule.warp.push_back(allowed[static_cast<std::size_t>(
              random.range(0, static_cast<std::int64_t>(allowed.size()) - 1))]);
        }
        for_all_starts(at(ops), 2 * ii, [&](const std::vector<Cycle>& starts) {
          schedule.start = starts;
          schedule.length = schedule_length(problem, schedule.start);
          if (verify(problem, schedule)) return;
          ++schedules;
          const Schedule better = together(problem, leader, schedule);
          if (better.start == schedule.start) return;
          ++moved;
          REQUIRE_FALSE(verify(problem, better));
          REQUIRE(better.length <= schedule.length);
          for (int u = 0; u < ops; ++u)
            if (problem.ops[at(u)].streaming)
              REQUIRE(ring_depth(problem, better, u) <= ring_depth(problem, schedule, u));
        });
      }
  }
  MESSAGE(loops, " loops, ", schedules, " schedules, of which ", moved, " change");
  CHECK(loops > 100);
  CHECK(moved > 10'000);
}

TEST_CASE("an op starts with its producer or its consumer, where nothing speaks against it") {
  CHECK(leaders(chain()) == Leaders{1, 1});
  SUBCASE("whatever it keeps alive, with its consumer") {
    Problem p = chain();
    p.ops[0].footprints = {{0, 4}};
    p.ops[0].registers = 2;
    CHECK(leaders(p) == Leaders{1, 1});
  }
  SUBCASE("not if it executes") {
    Problem p = chain();
    p.ops[0].cycles = 1;
    CHECK(leaders(p) == Leaders{0, 1});
  }
  SUBCASE("not with a delay or in another iteration") {
    Problem p = chain();
    p.edges[0].delay = 1;
    CHECK(leaders(p) == Leaders{0, 1});
    p.edges[0].delay = 0;
    p.edges[0].distance = 1;
    CHECK(leaders(p) == Leaders{0, 1});
  }
  SUBCASE("not with a spill") {
    Problem p = chain();
    p.ops[0].spill = 1;
    CHECK(leaders(p) == Leaders{0, 1});
  }
  SUBCASE("not if it waits") {
    Problem p = chain();
    p.ops.push_back(p.ops[1]);
    p.ops[2].id = "c";
    p.edges.push_back({2, 0, 1, 0, true, 0});
    CHECK(leaders(p) == Leaders{0, 1, 2});
  }
  SUBCASE("not if it is pinned, or used again by itself") {
    Problem p = chain();
    p.pins = {{Pin::at_cycle, 0, -1, 0, -1}};
    CHECK(leaders(p) == Leaders{0, 1});
    p.pins.clear();
    p.edges.push_back({0, 0, 0, 1, false, 0});
    CHECK(leaders(p) == Leaders{0, 1});
  }
  SUBCASE("with the first of several consumers, if there is a first") {
    Problem p = chain();
    p.ops.push_back(p.ops[1]);
    p.ops[2].id = "c";
    p.edges.push_back({0, 2, 0, 0, false, 0});
    CHECK(leaders(p) == Leaders{0, 1, 2});
    p.edges.push_back({2, 1, 1, 0, false, 0});
    CHECK(leaders(p) == Leaders{2, 1, 2});
    p.edges[0].delay = 2;  // more than c keeps b away
    CHECK(leaders(p) == Leaders{0, 1, 2});
  }
  SUBCASE("back, with its producer, if it keeps nothing") {
    Problem p = chain();
    p.edges = {{1, 0, 0, 0, false, 0}};
    CHECK(leaders(p) == Leaders{1, 1});
    p.ops[0].registers = 1;
    CHECK(leaders(p) == Leaders{0, 1});
    p.ops[0].registers = 0;
    p.ops[1].spill = 2;
    CHECK(leaders(p) == Leaders{0, 1});
  }
  SUBCASE("a load, what it loads and a view of that, with the consumer of the view") {
    Problem p = chain();
    p.ops.insert(p.ops.begin() + 1, 2, p.ops[0]);
    p.ops[1].id = "allocation";
    p.ops[1].footprints = {{0, 4}};
    p.ops[2].id = "view";
    p.edges = {{0, 1, 0, 0, false, 0}, {1, 2, 0, 0, false, 0}, {2, 3, 0, 0, true, 0}};
    CHECK(leaders(p) == Leaders{3, 3, 3, 3});
    p.edges[1].hold = 1;  // the view keeps it for a cycle, wherever that is
    CHECK(leaders(p) == Leaders{1, 1, 1, 3});
  }
}

}  // namespace coincidence_test
