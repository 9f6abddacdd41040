// The tests' own tools: random problems, the exhaustive search and the shrinker.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "graph/check.hpp"
#include "graph/verify.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/shrink.hpp"

namespace oracle_test {

using namespace twill;
using namespace twill::test;

namespace {

/// Every start in [0, stages * I) and every slot of every op, judged by verify() alone.
std::optional<Schedule> try_everything(const Problem& problem, Cycle interval, Cycle stages) {
  const std::size_t n = problem.ops.size();
  std::optional<Schedule> best;
  Schedule schedule{interval, 0, std::vector<Cycle>(n, 0), std::vector<int>(n, 0)};
  for (;;) {
    schedule.length = schedule_length(problem, schedule.start);
    if ((!best || schedule.length < best->length) && !verify(problem, schedule)) best = schedule;
    std::size_t v = 0;  // the next digit string
    for (; v < n; ++v) {
      if (++schedule.warp[v] < static_cast<int>(problem.warps.size())) break;
      schedule.warp[v] = 0;
      if (++schedule.start[v] < interval * stages) break;
      schedule.start[v] = 0;
    }
    if (v == n) return best;
  }
}

/// Checks brute_force_at() on seeds [0, problems); returns how many (problem, I) had a schedule.
int compare_with_everything(int problems, const LoopKnobs& knobs, Cycle max_interval,
                            Cycle stages) {
  int feasible = 0;
  for (int seed = 0; seed < problems; ++seed) {
    const Problem problem = random_loop(static_cast<std::uint64_t>(seed), knobs);
    for (Cycle interval = 1; interval <= max_interval; ++interval) {
      CAPTURE(seed);
      CAPTURE(interval);
      const auto expected = try_everything(problem, interval, stages);
      const auto found = brute_force_at(problem, interval, stages);
      REQUIRE(found.has_value() == expected.has_value());
      if (!found) continue;
      ++feasible;
      REQUIRE(found->length == expected->length);
      REQUIRE(found->initiation_interval == interval);
      REQUIRE_FALSE(verify(problem, *found));
      for (const Cycle start : found->start) REQUIRE(start < interval * stages);
    }
  }
  return feasible;
}

}  // namespace

TEST_CASE("splitmix64 gives the published sequence and the generator depends on the seed alone") {
  Random random(1234567);
  CHECK(random.next() == 6457827717110365317u);
  CHECK(random.next() == 3203168211198807973u);
  CHECK(random.next() == 9817491932198370423u);
  CHECK(random_loop(5) == random_loop(5));
  CHECK_FALSE(random_loop(5) == random_loop(6));
}

TEST_CASE("random problems are well formed and use every feature") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const Problem p = random_loop(seed);
    CHECK_NOTHROW(check(p));
    CHECK(p.ops.size() >= 2);
    CHECK(p.ops.size() <= 5);
    const auto note = [&](bool condition, const char* feature) {
      if (condition) seen.insert(feature);
    };
    note(variable_latency_slot(p) >= 0, "marked slot");
    note(!monotone_in_ii(p), "not monotone");
    note(monotone_in_ii(p), "monotone");
    for (std::size_t w = 1; w < p.warps.size(); ++w) {
      WarpSlot twin = p.warps[w];
      twin.name = p.warps[w - 1].name;
      note(twin == p.warps[w - 1], "identical slots");
    }
    for (const Unit& unit : p.units) note(unit.capacity == 2, "capacity 2");
    for (const Op& op : p.ops) {
      note(op.cycles == 0 && !op.streaming, "zero cycles");
      note(op.streaming, "streaming");
      note(op.variable_latency && !op.streaming, "variable latency");
      note(op.width == 4, "wide");
      note(op.spill > 0, "spill");
      note(op.registers > 0, "registers");
      note(!op.footprints.empty(), "footprint");
      note(op.reservations.size() > 1, "several segments");
      for (const Reservation& r : op.reservations) {
        note(r.amount == 2, "amount 2");
        note(r.offset > 0, "offset");
        note(r.length < op.cycles, "pipelined");
      }
    }
    for (const Edge& edge : p.edges) {
      note(edge.distance == 2, "distance 2");
      note(edge.from == edge.to, "self edge");
      note(edge.blocking, "blocking");
      note(edge.hold > 0, "hold");
      note(edge.from > edge.to && edge.distance == 0, "upward");
      note(edge.from < edge.to && edge.distance == 0, "downward");
    }
  }
  CHECK(seen.size() == 22);
}

TEST_CASE("knobs switch features off") {
  LoopKnobs knobs;
  knobs.min_ops = knobs.max_ops = 7;
  knobs.max_distance = 0;
  knobs.max_hold = knobs.max_spill = knobs.max_registers = 0;
  knobs.max_memories = 0;
  knobs.wide_ops = knobs.zero_cycle_ops = knobs.blocking = false;
  knobs.variable_latency_slot = knobs.multi_segment = knobs.pipelined_units = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Problem p = random_loop(seed, knobs);
    CHECK_NOTHROW(check(p));
    CHECK(p.ops.size() == 7);
    CHECK(p.memories.empty());
    CHECK(variable_latency_slot(p) < 0);
    CHECK(monotone_in_ii(p));
    for (const Op& op : p.ops) {
      CHECK((op.streaming || op.cycles > 0));
      CHECK(op.width + op.registers + op.spill == 1);
      for (const Reservation& r : op.reservations) CHECK(r.length == op.cycles);
    }
    for (const Edge& edge : p.edges) CHECK(edge.distance + edge.hold + edge.blocking == 0);
  }
}

TEST_CASE("the pruned search finds what trying everything finds") {
  LoopKnobs pairs;
  pairs.max_ops = 2;
  CHECK(compare_with_everything(150, pairs, 4, 2) >= 100);
  LoopKnobs triples;
  triples.min_ops = triples.max_ops = 3;
  triples.max_cycles = 2;
  CHECK(compare_with_everything(60, triples, 3, 2) >= 30);
  LoopKnobs many_slots;  // identical slots are not all tried
  many_slots.min_ops = many_slots.max_ops = 4;
  many_slots.max_cycles = 2;
  many_slots.max_slots = 3;
  CHECK(compare_with_everything(60, many_slots, 3, 1) >= 20);
}

TEST_CASE("brute_force takes the smallest I") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.max_ops = 3;
    const Problem problem = random_loop(seed, knobs);
    const auto best = brute_force(problem, 6, 2);
    const Cycle below = best ? best->initiation_interval : 7;
    for (Cycle interval = 1; interval < below; ++interval)
      CHECK_FALSE(brute_force_at(problem, interval, 2));
    if (best) CHECK(best == brute_force_at(problem, below, 2));
  }
}

TEST_CASE("the shrinker reaches the known smallest case") {
  LoopKnobs knobs;
  knobs.min_ops = knobs.max_ops = 12;
  int shrunk = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, knobs);
    // "Fails" when a blocking edge of distance 2 leaves an op that holds registers.
    const auto fails = [](const Problem& p) {
      return std::any_of(p.edges.begin(), p.edges.end(), [&](const Edge& e) {
        return e.blocking && e.distance >= 2 &&
               p.ops[static_cast<std::size_t>(e.from)].registers > 0;
      });
    };
    if (!fails(problem)) continue;
    ++shrunk;
    const Problem small = shrink(problem, fails);
    CHECK_NOTHROW(check(small));
    REQUIRE(fails(small));
    REQUIRE(small.edges.size() == 1);
    const Edge& edge = small.edges[0];
    CHECK(small.ops.size() == (edge.from == edge.to ? 1 : 2));
    CHECK(edge == Edge{edge.from, edge.to, 0, 2, true, 0});
    for (std::size_t v = 0; v < small.ops.size(); ++v) {
      Op least;
      least.id = small.ops[v].id;
      least.registers = static_cast<int>(v) == edge.from ? 1 : 0;
      CHECK(small.ops[v] == least);
    }
    CHECK(small.units.empty());
    CHECK(small.memories.empty());
    REQUIRE(small.warps.size() == 1);
    CHECK(small.warps[0] == WarpSlot{small.warps[0].name, 1, 0, false});
  }
  CHECK(shrunk >= 5);
}

TEST_CASE("the shrinker keeps what it needs of a real question") {
  // Problems that no I up to 4 schedules, shrunk to where every part matters.
  LoopKnobs knobs;
  knobs.max_ops = 3;
  int shrunk = 0;
  for (std::uint64_t seed = 0; seed < 60 && shrunk < 8; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, knobs);
    const auto fails = [](const Problem& p) { return !brute_force(p, 4, 2); };
    if (!fails(problem)) continue;
    ++shrunk;
    const Problem small = shrink(problem, fails);
    REQUIRE(fails(small));
    for (std::size_t e = 0; e < small.edges.size(); ++e) {
      Problem without = small;
      without.edges.erase(without.edges.begin() + static_cast<std::ptrdiff_t>(e));
      CHECK_FALSE(fails(without));
    }
    for (std::size_t v = 0; v < small.ops.size(); ++v)
      for (std::size_t r = 0; r < small.ops[v].reservations.size(); ++r) {
        Problem without = small;
        auto& segments = without.ops[v].reservations;
        segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(r));
        CHECK_FALSE(fails(without));
      }
  }
  CHECK(shrunk == 8);
}

}  // namespace oracle_test
