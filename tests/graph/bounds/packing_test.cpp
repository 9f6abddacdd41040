// The packing bound: no schedule is below it, it is met now and then, and its functions are what
// they are said to be.
#include "graph/bounds/packing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/certificate/counting.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/dual_feasible.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/problem_io.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

namespace packing_test {

using namespace twill;
using namespace twill::test;

namespace {

/// Results that hardly fit, on slots that differ, with several uses each.
LoopKnobs full() {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  knobs.max_units = 1;
  knobs.max_memories = 1;
  knobs.max_edges_per_op = 3;
  knobs.max_registers = 6;
  knobs.max_spill = 1;
  knobs.blocking = false;
  return knobs;
}

/// Where dependences alone leave room: the packing bound is asked from there on.
Cycle recurrences(const Problem& problem) {
  const auto least = rec_mii(problem, true);
  return least ? least->value : 1;
}

}  // namespace

TEST_CASE("weights of amounts that fit side by side are no more than the most") {
  for (Amount capacity = 1; capacity <= 14; ++capacity) {
    std::vector<DualFeasible> all{{}};
    for (Amount k = 1; k <= capacity + 2; ++k)
      for (const auto shape : {DualFeasible::part, DualFeasible::half}) all.push_back({shape, k});
    for (const DualFeasible& f : all) {
      CAPTURE(capacity);
      CAPTURE(f.shape);
      CAPTURE(f.k);
      const Wide most = f.most(capacity);
      bool met = most == 0;
      // Every multiset of amounts, the largest first.
      std::function<void(Amount, Amount, Wide)> fill = [&](Amount largest, Amount room, Wide sum) {
        if (sum > most) FAIL_CHECK("more than the most");
        met = met || sum == most;
        for (Amount x = std::min(largest, room); x >= 1; --x)
          fill(x, room - x, sum + f.weight(x, capacity));
      };
      fill(capacity, capacity, 0);
      CHECK(met);
    }
  }
}

TEST_CASE("no schedule is below the packing bound, and the second computation finds it") {
  constexpr Cycle kMostAsked = 9;
  int bounds = 0, met = 0, never = 0, decides = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs = full();
    knobs.variable_latency_slot = seed % 2 == 0;
    knobs.multi_segment = seed % 3 == 0;
    const Problem problem = random_loop(seed, knobs);
    const Cycle low = recurrences(problem);
    const auto bound = packing_bound(problem, low);
    if (!bound) continue;
    ++bounds;
    REQUIRE(bound->value > low);
    CAPTURE(bound->text);
    const bool none = bound->value > serial_ii(problem);
    never += none;
    for (Cycle ii = 1; ii < std::min(bound->value, kMostAsked); ++ii)
      if (brute_force_at(problem, ii, 3))
        FAIL_CHECK("schedule at I = " << ii << "\n" << problem_text(problem));
    CHECK(interval_counted_out(problem, bound->value - 1));
    if (none || bound->value >= kMostAsked) continue;
    if (!brute_force_at(problem, bound->value, 3)) continue;
    ++met;
    CHECK_FALSE(interval_counted_out(problem, bound->value));
    Cycle others = 1;
    for (const Bound& other : lower_bounds(problem))
      if (other.text != bound->text) others = std::max(others, other.value);
    decides += others < bound->value;
  }
  CHECK(bounds > 3000);
  CHECK(met > 300);
  CHECK(never > 300);
  CHECK(decides > 100);
}

TEST_CASE("the packing bound says what it adds up") {
  // A slot of three registers holds one of the values of two. The first is held for 9 cycles, by
  // the path past one use to the other, the others for 5 and 6.
  Problem problem;
  problem.warps = {{"a", 1, 3, false}, {"b", 1, 3, false}};
  for (const char* id : {"x", "y", "z", "end"}) {
    problem.ops.push_back({});
    problem.ops.back().id = id;
    problem.ops.back().cycles = 1;
    problem.ops.back().registers = 2;
  }
  problem.ops[3].registers = 0;
  problem.edges = {{0, 1, 4, 0, false, 0},
                   {1, 2, 5, 0, false, 0},
                   {0, 2, 1, 0, false, 0},
                   {2, 3, 6, 0, false, 0}};
  const auto bound = packing_bound(problem, 1);
  REQUIRE(bound);
  CHECK(bound->value == 10);
  CHECK(bound->text ==
        "registers of a, b: least lifetimes along paths, times a weight (2 weighs 3) of which no "
        "more fits, are 60 of 6 x I: at least 10 cycles");
  CHECK(lower_bounds(problem).front().text == bound->text);
  CHECK_FALSE(packing_bound(problem, 10));
  CHECK_FALSE(brute_force_at(problem, 10, 1));  // 9 on one slot, 5 and 6 on the other
  CHECK(brute_force_at(problem, 11, 2));
  // An accumulator is live all the time, and takes its slot.
  problem.edges.push_back({2, 2, 1, 1, false, 1});
  const auto none = packing_bound(problem, 1);
  REQUIRE(none);
  CHECK(none->value == 15);  // 9 and 5 on the other slot, one after the other
  problem.edges.push_back({1, 1, 1, 1, false, 1});
  const auto never = packing_bound(problem, 1);
  REQUIRE(never);
  CHECK(never->value == serial_ii(problem) + 1);
}

}  // namespace packing_test
