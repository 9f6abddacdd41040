// The branch and bound against enumeration, and the same answer for any number of threads.
#include "graph/branch_and_bound/modulo_schedule.hpp"

#include <doctest/doctest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "graph/bounds/bounds.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/lower.hpp"
#include "graph/problem_io.hpp"
#include "graph/schedule.hpp"
#include "tests/support/attention_loop.hpp"
#include "tests/support/random_loop.hpp"

namespace modulo_schedule_test {

using namespace twill;
using namespace twill::test;

namespace {

/// Rules 1 and 2 by counting residues.
bool valid(const Problem& problem, Cycle ii, const std::vector<Cycle>& start) {
  for (const Edge& e : problem.edges)
    if (start[static_cast<std::size_t>(e.to)] + e.distance * ii <
        start[static_cast<std::size_t>(e.from)] + e.delay)
      return false;
  for (std::size_t f = 0; f < problem.units.size(); ++f) {
    std::vector<Amount> used(static_cast<std::size_t>(ii), 0);
    for (std::size_t v = 0; v < start.size(); ++v)
      for (const Reservation& r : problem.ops[v].reservations)
        if (r.unit == static_cast<int>(f))
          for (Cycle t = 0; t < r.length; ++t)
            used[static_cast<std::size_t>((start[v] + r.offset + t) % ii)] += r.amount;
    if (*std::max_element(used.begin(), used.end()) > problem.units[f].capacity) return false;
  }
  return *std::min_element(start.begin(), start.end()) >= 0;
}

/// Smallest length over all starts in [0, stages * I), -1 when there is none.
Cycle shortest_by_enumeration(const Problem& problem, Cycle ii, Cycle stages) {
  std::vector<Cycle> start(problem.ops.size(), 0);
  Cycle best = -1;
  for (;;) {
    const Cycle length = schedule_length(problem, start);
    if ((best < 0 || length < best) && valid(problem, ii, start)) best = length;
    std::size_t v = 0;
    while (v < start.size() && ++start[v] == stages * ii) start[v++] = 0;
    if (v == start.size()) return best;
  }
}

LoopKnobs tiny() {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  knobs.max_cycles = 4;
  knobs.max_units = 2;
  knobs.max_capacity = 3;
  knobs.max_distance = 2;
  return knobs;
}

LoopKnobs larger(Amount capacity) {
  LoopKnobs knobs;
  knobs.min_ops = 8;
  knobs.max_ops = 12;
  knobs.max_cycles = 6;
  knobs.max_units = 2;
  knobs.max_capacity = capacity;
  knobs.variable_latency_slot = false;
  knobs.streaming = false;
  return knobs;
}

}  // namespace

TEST_CASE("every I: feasibility and smallest length agree with enumeration") {
  int feasible = 0, infeasible = 0, longer = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const Problem problem = random_loop(seed, tiny());
    for (Cycle ii = 1; ii <= 5; ++ii) {
      const Cycle stages = modulo_stage_bound(problem, ii) + (seed % 4 == 0 ? 1 : 0);
      double tries = 1;
      for (std::size_t v = 0; v < problem.ops.size(); ++v)
        tries *= static_cast<double>(stages * ii);
      if (tries > 8000) continue;
      CAPTURE(seed);
      CAPTURE(ii);
      ModuloScheduleOptions options;
      options.threads = 1;
      const ModuloSchedule result = optimal_modulo_schedule(problem, ii, options);
      const Cycle truth = shortest_by_enumeration(problem, ii, stages);
      REQUIRE(result.proved);
      REQUIRE(result.start.has_value() == (truth >= 0));
      if (truth < 0) {
        ++infeasible;
        continue;
      }
      ++feasible;
      CHECK(valid(problem, ii, *result.start));
      CHECK(schedule_length(problem, *result.start) == truth);
      CHECK(result.length == truth);
      CHECK(result.length_lower_bound == truth);
      // How often did the units make it longer than the dependences alone?
      Problem free = problem;
      for (Op& op : free.ops) op.reservations.clear();
      longer += optimal_modulo_schedule(free, ii, options).length < truth;
    }
  }
  CHECK(feasible > 2000);
  CHECK(infeasible > 500);
  CHECK(longer > 100);
}

TEST_CASE("the smallest I agrees with enumeration") {
  int compared = 0, above_bound = 0;
  for (std::uint64_t seed = 10'000; seed < 11'500; ++seed) {
    LoopKnobs knobs = tiny();
    knobs.max_ops = 3;
    const Problem problem = random_loop(seed, knobs);
    const ModuloSchedule result = smallest_modulo_schedule(problem);
    CAPTURE(seed);
    REQUIRE(result.proved);
    if (!result.start || result.initiation_interval > 6) continue;
    CHECK(valid(problem, result.initiation_interval, *result.start));
    CHECK(result.ii_lower_bound == result.initiation_interval);
    for (Cycle ii = 1; ii < result.initiation_interval; ++ii)
      if (modulo_stage_bound(problem, ii) * ii <= 24)
        CHECK(shortest_by_enumeration(problem, ii, modulo_stage_bound(problem, ii)) < 0);
    Cycle bound = 1;
    for (const Bound& b : res_mii(problem)) bound = std::max(bound, b.value);
    if (const auto b = rec_mii(problem, false)) bound = std::max(bound, b->value);
    above_bound += result.initiation_interval > bound;
    ++compared;
  }
  CHECK(compared > 1000);
  CHECK(above_bound > 5);
}

TEST_CASE("the same starts for any number of threads, with and without a node limit") {
  // More threads than this machine may have.
  const oneapi::tbb::global_control workers(oneapi::tbb::global_control::max_allowed_parallelism,
                                            6);
  int limited = 0, searched = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Problem problem = random_loop(seed, larger(seed % 2 == 0 ? 1 : 3));
    for (const std::int64_t limit : {std::int64_t{300}, std::int64_t{3}}) {
      ModuloScheduleOptions options;
      options.node_limit = limit;
      options.threads = 1;
      const ModuloSchedule one = smallest_modulo_schedule(problem, options);
      limited += !one.proved;
      searched += one.nodes > 10;
      for (const int threads : {2, 5}) {
        options.threads = threads;
        const ModuloSchedule many = smallest_modulo_schedule(problem, options);
        CAPTURE(seed);
        CAPTURE(threads);
        CHECK(many.proved == one.proved);
        CHECK(many.initiation_interval == one.initiation_interval);
        CHECK(many.start == one.start);
        CHECK(many.length_lower_bound == one.length_lower_bound);
        CHECK(many.ii_lower_bound == one.ii_lower_bound);
      }
      if (one.start) CHECK(valid(problem, one.initiation_interval, *one.start));
    }
  }
  CHECK(limited > 0);
  CHECK(searched > 10);
}

TEST_CASE("several segments: not monotone in I") {
  const Problem problem =
      read_problem(std::string(TWILL_TEST_DATA "/examples/").append("non-monotone.problem.json"));
  for (Cycle ii = 1; ii <= 6; ++ii) {
    const ModuloSchedule result = optimal_modulo_schedule(problem, ii);
    CHECK(result.proved);
    CHECK(result.start.has_value() == (ii != 1 && ii != 3));
  }
  CHECK(smallest_modulo_schedule(problem).initiation_interval == 2);
}

TEST_CASE("an op that overflows a unit by itself has no schedule at any I") {
  Problem problem;
  problem.units = {{"U", 1}};
  problem.warps = {{"w", 1, 0, false}};
  problem.ops.resize(1);
  problem.ops[0].id = "a";
  problem.ops[0].cycles = 3;
  problem.ops[0].reservations = {{0, 0, 2, 1}, {0, 1, 2, 1}};
  const ModuloSchedule result = smallest_modulo_schedule(problem);
  CHECK(result.proved);
  CHECK(!result.start);
}

TEST_CASE("a zero-cycle op may start at L itself, and an empty loop is trivial") {
  Problem problem;
  problem.warps = {{"w", 1, 0, false}};
  problem.ops.resize(2);
  problem.ops[0].id = "a";
  problem.ops[0].cycles = 2;
  problem.ops[1].id = "view";
  problem.edges = {{0, 1, 2, 0, false, 0}};
  const ModuloSchedule result = optimal_modulo_schedule(problem, 1);
  REQUIRE(result.start);
  CHECK(*result.start == std::vector<Cycle>{0, 2});
  CHECK(result.length == 2);
  CHECK(smallest_modulo_schedule(Problem{}).proved);
}

TEST_CASE("a stop request ends the search at once") {
  std::stop_source source;
  source.request_stop();
  ModuloScheduleOptions options;
  options.stop = source.get_token();
  const ModuloSchedule result =
      smallest_modulo_schedule(attention_loop(TWILL_TEST_DATA, "hopper-bwd"), options);
  CHECK(!result.proved);
  CHECK(!result.start);
}

TEST_CASE("attention loops at raw cycles reach the larger of ResMII and RecMII") {
  struct Known {
    std::string name;
    Cycle ii, length;
  };
  const std::vector<Known> known{
      {"hopper-fwd-plain", 2048, 4096},     {"hopper-fwd-sub2", 2048, 3072},
      {"hopper-fwd-sub2-m128", 4096, 6144}, {"hopper-bwd", 2560, 4352},
      {"hopper-bwd-sub2", 5120, 6400},      {"blackwell-fwd-plain", 1032, 3088},
      {"blackwell-fwd-sub2", 2064, 4112},   {"blackwell-bwd", 4096, 7680},
      {"blackwell-bwd-sub2", 4096, 5888}};
  for (const Known& k : known) {
    const Problem problem = attention_loop(TWILL_TEST_DATA, k.name);
    INFO(k.name);
    const ModuloSchedule result = smallest_modulo_schedule(problem);
    CHECK(result.proved);
    CHECK(result.initiation_interval == k.ii);
    CHECK(result.length == k.length);
    REQUIRE(result.start);
    CHECK(valid(problem, k.ii, *result.start));
    const Problem small = normalize_problem(problem, 300, false);
    const ModuloSchedule normal = smallest_modulo_schedule(small);
    CHECK(normal.proved);
    REQUIRE(normal.start);
    CHECK(valid(small, normal.initiation_interval, *normal.start));
  }
}

}  // namespace modulo_schedule_test
