// No bound may exceed the truth, known ones must be met, and each must be tight now and then.
#include "graph/bounds/bounds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "engine/certificate/counting.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/slot_bounds.hpp"
#include "graph/loop.hpp"
#include "graph/problem_io.hpp"
#include "tests/support/attention_loop.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

namespace bounds_test {

using namespace twill;
using namespace twill::test;

namespace {

Problem example(const std::string& name) {
  return read_problem(
      std::string(TWILL_TEST_DATA "/examples/").append(name).append(".problem.json"));
}

Cycle value_of(const std::vector<Bound>& bounds, const std::string& name) {
  Cycle value = 0;
  for (const Bound& bound : bounds)
    if (bound.name == name) value = std::max(value, bound.value);
  return value;
}

/// Ops crowded on few slots, most of them waiting: what the slot bounds are about.
LoopKnobs crowded() {
  LoopKnobs knobs;
  knobs.max_ops = 5;
  knobs.max_slots = 1;
  knobs.max_units = 1;
  knobs.max_memories = 0;
  knobs.max_registers = 0;
  knobs.max_distance = 1;
  knobs.wide_ops = false;
  knobs.variable_latency_slot = false;
  knobs.streaming = false;
  return knobs;
}

/// Largest ceil(delays / distances) over all simple cycles, by enumeration.
Cycle recurrence_by_enumeration(const Problem& problem) {
  Cycle worst = 0;
  std::vector<bool> on_path(problem.ops.size(), false);
  std::function<void(int, int, Cycle, Cycle)> walk = [&](int first, int at, Cycle delay,
                                                         Cycle distance) {
    for (const Edge& edge : problem.edges) {
      if (edge.from != at || edge.to < first) continue;
      const Cycle d = delay + edge.delay, k = distance + edge.distance;
      if (edge.to == first) {
        worst = std::max(worst, (d + k - 1) / k);
      } else if (!on_path[static_cast<std::size_t>(edge.to)]) {
        on_path[static_cast<std::size_t>(edge.to)] = true;
        walk(first, edge.to, d, k);
        on_path[static_cast<std::size_t>(edge.to)] = false;
      }
    }
  };
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) walk(v, v, 0, 0);
  return worst;
}

bool fits_by_counting(const Problem& problem, int v, Cycle ii) {
  for (std::size_t f = 0; f < problem.units.size(); ++f) {
    std::vector<Amount> used(static_cast<std::size_t>(ii), 0);
    for (const Reservation& r : problem.ops[static_cast<std::size_t>(v)].reservations)
      if (r.unit == static_cast<int>(f))
        for (Cycle t = r.offset; t < r.offset + r.length; ++t)
          used[static_cast<std::size_t>(t % ii)] += r.amount;
    if (*std::max_element(used.begin(), used.end()) > problem.units[f].capacity) return false;
  }
  return true;
}

struct Tally {
  int tight = 0, slot_tight = 0, slot_decides = 0, lifetime_decides = 0;
};

/// Every I below the best bound must be refuted by brute force; counts how often I = bound works.
Tally compare(const LoopKnobs& knobs, std::uint64_t first, int count, Cycle stages) {
  Tally tally;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
    const Problem problem = random_loop(seed, knobs);
    const std::vector<Bound> bounds = lower_bounds(problem);
    const Cycle best = bounds.front().value;
    CHECK(std::is_sorted(bounds.begin(), bounds.end(),
                         [](const Bound& a, const Bound& b) { return a.value > b.value; }));
    for (Cycle ii = 1; ii < best; ++ii) {
      if (!brute_force_at(problem, ii, stages)) continue;
      FAIL_CHECK("seed " << seed << ": schedule at I = " << ii << " below " << bounds.front().name
                         << " (" << bounds.front().text << ")\n"
                         << problem_text(problem));
      break;
    }
    if (!brute_force_at(problem, best, stages)) continue;
    ++tally.tight;
    const Cycle slot = value_of(bounds, "slot");
    if (slot == best && best > 1) {
      ++tally.slot_tight;
      const auto others = [&](const Bound& b) { return b.name == "slot" || b.value < best; };
      tally.slot_decides += std::all_of(bounds.begin(), bounds.end(), others);
    }
    const auto not_lifetime = [&](const Bound& b) {
      return b.name == "lifetimes" || b.value < best;
    };
    tally.lifetime_decides += std::all_of(bounds.begin(), bounds.end(), not_lifetime);
  }
  return tally;
}

}  // namespace

TEST_CASE("no bound exceeds the truth on general loops") {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  const Tally tally = compare(knobs, 1, 4000, 3);
  CHECK(tally.tight > 500);
  CHECK(tally.lifetime_decides > 5);
}

TEST_CASE("no bound exceeds the truth on one crowded slot") {
  const Tally tally = compare(crowded(), 50'000, 4000, 2);
  CHECK(tally.slot_tight > 300);
  CHECK(tally.slot_decides > 100);
}

TEST_CASE("the slot bound counts reservation lengths, not cycles") {
  // b waits and runs 3 cycles but holds A for 2; with a, 1 + 2 fit into I = 3. Adding cycles
  // says 4.
  const Problem gap = example("gap");
  CHECK(lower_bounds(gap).front().value == 3);
  CHECK(brute_force(gap, 8, 3)->initiation_interval == 3);
}

TEST_CASE("a lone waiter does not exclude itself, two do") {
  Problem problem;
  problem.warps = {{"w", 1, 0, false}};
  problem.ops.resize(2);
  problem.ops[0].id = "a";
  problem.ops[1].id = "b";
  problem.ops[0].cycles = 4;
  problem.edges = {{0, 0, 0, 1, true, 0}};
  CHECK(lower_bounds(problem).front().value == 1);  // longer than I = 1, and nothing else is there
  CHECK(brute_force(problem, 9, 2)->initiation_interval == 1);
  problem.ops[1].cycles = 3;  // does not wait: strictly between two waits of a
  CHECK(lower_bounds(problem).front().value == 4);
  CHECK(brute_force(problem, 9, 2)->initiation_interval == 4);
  problem.edges.push_back({1, 1, 0, 1, true, 0});  // now it does
  CHECK(lower_bounds(problem).front().value == 7);
  CHECK(brute_force(problem, 9, 2)->initiation_interval == 7);
  problem.ops[1].cycles = 0;  // waits at an instant when a is not running
  CHECK(lower_bounds(problem).front().value == 5);
  CHECK(brute_force(problem, 9, 2)->initiation_interval == 5);
}

TEST_CASE("known bounds of attention loops") {
  struct Known {
    std::string name;
    Cycle units, recurrence, best;
  };
  const std::vector<Known> known{
      {"hopper-fwd-plain", 2048, 1152, 2593},     {"hopper-fwd-sub2", 2048, 576, 2048},
      {"hopper-fwd-sub2-m128", 4096, 1152, 4096}, {"hopper-bwd", 2560, 512, 2946},
      {"hopper-bwd-sub2", 5120, 1024, 5891},      {"blackwell-fwd-plain", 1032, 896, 1032},
      {"blackwell-fwd-sub2", 2064, 896, 2064},    {"blackwell-bwd", 4096, 512, 4096},
      {"blackwell-bwd-sub2", 4096, 512, 4096}};
  REQUIRE(known.size() == attention_loops().size());
  for (const Known& k : known) {
    const std::vector<Bound> bounds = lower_bounds(attention_loop(TWILL_TEST_DATA, k.name));
    INFO(k.name, ": ", bounds.front().text);
    CHECK(bounds.front().value == k.best);
    CHECK(value_of(bounds, "units") == k.units);
    CHECK(value_of(bounds, "recurrence") == k.recurrence);
  }
}

TEST_CASE("bounds say what they add up") {
  const std::vector<Bound> sub2 =
      lower_bounds(attention_loop(TWILL_TEST_DATA, "blackwell-fwd-sub2"));
  CHECK(sub2.front().text == "SFU: 2 x 1024 + 2 x 8 = 2064 cycles on 1 instance");
  CHECK(value_of(lower_bounds(example("carried-spill")), "recurrence") == 2);
  CHECK(value_of(lower_bounds(example("carried-spill")), "recurrence with forced spills") == 5);
  const auto slot = slot_bounds(attention_loop(TWILL_TEST_DATA, "hopper-bwd"));
  REQUIRE(slot.size() == 1);
  CHECK(slot[0].text ==
        "compute: 2944 cycles of 8 waiting ops that exclude each other + 1 for a waiting op of 0 "
        "cycles + 1 for the other ops between two waits = 2946");
}

TEST_CASE("on one slot each wait takes a cycle beside a unit that is never idle") {
  // Row loops on Ampere: all on one slot, more ops than the search through their gaps can place.
  for (const int others : {4, 12, 40})
    for (const int waiters : {1, 2, 4}) {
      Problem problem;
      problem.units = {{"ALU", 1}, {"SMEM", 1}};
      problem.warps = {{"all", 4, 200, false}};
      const auto add = [&](int unit, Cycle cycles) {
        problem.ops.push_back({});
        problem.ops.back().id = std::to_string(problem.ops.size());
        problem.ops.back().cycles = cycles;
        problem.ops.back().reservations = {{unit, 0, cycles, 1}};
      };
      for (int v = 0; v < waiters; ++v) add(1, 3);
      for (int v = 0; v < others; ++v) add(0, 2);
      for (int v = 0; v < waiters; ++v) problem.edges.push_back({waiters, v, 0, 0, true, 0});
      CAPTURE(others);
      CAPTURE(waiters);
      const Cycle least = 2 * others + waiters;
      CHECK(lower_bounds(problem).front().value == least);
      CHECK(interval_counted_out(problem, least - 1));
      CHECK_FALSE(interval_counted_out(problem, least));
      Options some;
      some.conflict_limit = 1'000;
      const Solution found = solve(problem, some);
      REQUIRE(found.schedule);
      CHECK(found.schedule->initiation_interval == least);
      CHECK(found.schedule->length >= least);
      CHECK(length_bounds(problem, least).front().value >= least);
      CHECK(length_counted_out(problem, least, least - 1));
    }
}

TEST_CASE("segments that take more than half of a unit exclude each other") {
  Problem problem;
  problem.units = {{"U", 3}};
  problem.warps = {{"w", 1, 0, false}};
  for (int v = 0; v < 3; ++v) {
    problem.ops.push_back({});
    problem.ops.back().id = std::to_string(v);
    problem.ops.back().cycles = 1;
    problem.ops.back().reservations = {{0, 0, 1, 2}};
  }
  CHECK(res_mii(problem).front().value == 3);  // ceil(6 / 3) is only 2
  CHECK(brute_force(problem, 5, 1)->initiation_interval == 3);
}

TEST_CASE("RecMII is the largest cycle ratio, rounded up") {
  int cycles = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    LoopKnobs knobs;
    knobs.max_ops = 7;
    knobs.max_cycles = 9;
    const Problem problem = random_loop(seed, knobs);
    const auto bound = rec_mii(problem, false);
    const Cycle truth = recurrence_by_enumeration(problem);
    CAPTURE(seed);
    CHECK((bound ? bound->value : 0) == truth);
    Problem forced = problem;
    const std::vector<Cycle> delays = forced_delays(problem);
    for (std::size_t e = 0; e < delays.size(); ++e) forced.edges[e].delay = delays[e];
    const auto spilled = rec_mii(problem, true);
    CHECK((spilled ? spilled->value : 0) == recurrence_by_enumeration(forced));
    cycles += truth > 1;
  }
  CHECK(cycles > 300);
}

TEST_CASE("an op alone is tested residue by residue") {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    LoopKnobs knobs;
    knobs.max_cycles = 6;
    const Problem problem = random_loop(seed, knobs);
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
      for (Cycle ii = 1; ii <= 7; ++ii) {
        const bool fits = reservation_fits(problem, v, ii);
        CHECK(fits == fits_by_counting(problem, v, ii));
        refused += !fits;
      }
  }
  CHECK(refused > 500);
  const Problem twice = example("non-monotone");
  for (Cycle ii = 1; ii <= 6; ++ii) CHECK(reservation_fits(twice, 0, ii) == (ii != 1 && ii != 3));
}

TEST_CASE("length bounds: never above the smallest length, and met now and then by each") {
  std::map<std::string, int> met;
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, seed % 2 == 0 ? LoopKnobs{} : crowded());
    for (const Cycle ii : {3, 6}) {
      const auto best = brute_force_at(problem, ii, 3);
      if (!best) continue;
      ++feasible;
      // Three stages may not be enough for the smallest length, but no schedule beats a bound.
      const std::vector<Bound> bounds = length_bounds(problem, ii);
      REQUIRE_FALSE(bounds.empty());
      for (const Bound& bound : bounds) {
        CAPTURE(bound.text);
        REQUIRE(bound.value <= best->length);
        if (bound.value == best->length) ++met[bound.name];
      }
    }
  }
  CHECK(feasible > 2000);
  CHECK(met["dependences"] > 300);
  CHECK(met["units"] > 300);
  CHECK(met["slot"] > 30);
}

TEST_CASE("length bounds in words") {
  Problem p = example("figure-1");
  const std::vector<Bound> bounds = length_bounds(p, 2);
  CHECK(bounds.front().value == 3);  // L is 4 because the second S is in the way
  CHECK(bounds.front().text == "longest path = 3");
  // Two more ops like S that nothing orders: three cycles of the unit before the others' tail.
  for (const char* id : {"S2", "S3"}) {
    p.ops.push_back(p.ops[0]);
    p.ops.back().id = id;
  }
  CHECK(value_of(length_bounds(p, 4), "units") == 4);
}

}  // namespace bounds_test
