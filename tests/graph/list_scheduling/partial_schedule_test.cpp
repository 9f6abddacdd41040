// Ops placed one by one: what clashes is what the judge refuses in the end, whatever the order and
// whatever was placed and taken away before.
#include "graph/list_scheduling/partial_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "graph/loop.hpp"
#include "graph/verify.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

namespace partial_schedule_test {

using namespace twill;
using namespace twill::test;

namespace {

std::vector<int> shuffled(std::size_t count, Random& random) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// Some ops at random, and away again.
void disturb(PartialSchedule& state, const Problem& problem, Random& random) {
  std::vector<int> there;
  for (int step = 0; step < 12; ++step) {
    const int v = static_cast<int>(random.below(problem.ops.size()));
    if (!state.placed(v) && !state.slots_of(v).empty()) {
      const auto& slots = state.slots_of(v);
      state.place(v, slots[random.below(slots.size())], random.range(-5, 3 * state.ii()));
      there.push_back(v);
    } else if (state.placed(v)) {
      state.remove(v);
      std::erase(there, v);
    }
  }
  std::reverse(there.begin(), there.end());
  for (const int v : there) state.remove(v);
}

// All that a partial schedule looks at: channels it leaves to the judge.
LoopKnobs everything() {
  LoopKnobs knobs;
  knobs.flight = true;
  return knobs;
}

bool slots_allowed(const PartialSchedule& state, const Schedule& schedule) {
  for (int v = 0; v < static_cast<int>(schedule.warp.size()); ++v) {
    const auto& slots = state.slots_of(v);
    if (std::find(slots.begin(), slots.end(), schedule.warp[static_cast<std::size_t>(v)]) ==
        slots.end())
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("no clash on the way, if and only if the judge accepts") {
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const Problem problem =
        seed % 3 == 0 ? ring_loop(seed, everything()) : random_loop(seed, everything());
    Random random(seed);
    std::optional<Schedule> schedule = random_schedule(problem, random, 8);
    if (seed % 2 == 0) schedule = brute_force_at(problem, schedule->initiation_interval, 2);
    if (!schedule) continue;
    CAPTURE(seed);
    PartialSchedule state(problem, schedule->initiation_interval);
    disturb(state, problem, random);
    // What the state says nothing about.
    if (!slots_allowed(state, *schedule)) continue;
    bool clashes = false;
    for (const int v : shuffled(problem.ops.size(), random)) {
      const auto i = static_cast<std::size_t>(v);
      state.place(v, schedule->warp[i], schedule->start[i]);
      clashes = clashes || state.clash();
    }
    // A self edge that its interval breaks is no clash: no place would help.
    if (!positive_cycle(problem, schedule->initiation_interval).empty()) continue;
    Schedule moved = *schedule;
    const Cycle first = *std::min_element(moved.start.begin(), moved.start.end());
    for (Cycle& t : moved.start) t -= first;
    moved.length = schedule_length(problem, moved.start);
    CHECK(state.schedule() == moved);
    const auto violation = verify(problem, moved);
    CHECK_MESSAGE(clashes == violation.has_value(), (violation ? violation->text : "accepted"));
    (violation ? refused : accepted) += 1;
  }
  MESSAGE(accepted << " accepted, " << refused << " refused");
  CHECK(accepted > 1000);
  CHECK(refused > 1000);
}

// Slots are known before ops are placed, so that what waits for one that comes later has its wait.
TEST_CASE(
    "storage may overflow: nothing clashes and nothing is above, if and only if it is right") {
  int accepted = 0, refused = 0, above = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const Problem problem =
        seed % 3 == 0 ? ring_loop(seed, everything()) : random_loop(seed, everything());
    Random random(seed);
    std::optional<Schedule> schedule = random_schedule(problem, random, 8);
    if (seed % 2 == 0) schedule = brute_force_at(problem, schedule->initiation_interval, 2);
    if (!schedule) continue;
    CAPTURE(seed);
    PartialSchedule state(problem, schedule->initiation_interval,
                          PartialSchedule::Storage::may_overflow);
    disturb(state, problem, random);
    if (!slots_allowed(state, *schedule)) continue;
    if (!positive_cycle(problem, schedule->initiation_interval).empty()) continue;
    if (seed % 4 < 2) state.plan(schedule->warp);
    if (seed % 8 < 4) {
      std::vector<Cycle> expected;
      for (std::size_t v = 0; v < problem.ops.size(); ++v) expected.push_back(random.range(-9, 9));
      state.expect(expected);
    }
    bool clashes = false;
    for (const int v : shuffled(problem.ops.size(), random)) {
      const auto i = static_cast<std::size_t>(v);
      state.place(v, schedule->warp[i], schedule->start[i] + 1);  // and away again
      state.remove(v);
      state.place(v, schedule->warp[i], schedule->start[i]);
      const auto clash = state.clash();
      if (clash) CHECK(clash->kind != Clash::registers);
      if (clash) CHECK(clash->kind != Clash::memory);
      clashes = clashes || clash;
    }
    const Wide excess = state.excess();
    above += !clashes && excess > 0;
    Schedule moved = state.schedule();
    const auto violation = verify(problem, moved);
    CHECK_MESSAGE((clashes || excess > 0) == violation.has_value(),
                  (violation ? violation->text : "accepted"));
    (violation ? refused : accepted) += 1;
  }
  MESSAGE(accepted << " accepted, " << refused << " refused, " << above << " by storage alone");
  CHECK(accepted > 1000);
  CHECK(refused > 1000);
  CHECK(above > 100);
}

// Not always: a life of several periods counts once, and one that grew twice can count twice.
TEST_CASE("what the last op makes overflow is what more overflows, most often") {
  int more = 0, equal = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, everything());
    Random random(seed);
    const Schedule schedule = random_schedule(problem, random, 8);
    PartialSchedule state(problem, schedule.initiation_interval,
                          PartialSchedule::Storage::may_overflow);
    for (const int v : shuffled(problem.ops.size(), random)) {
      const auto i = static_cast<std::size_t>(v);
      const Wide before = state.excess();
      state.place(v, schedule.warp[i], schedule.start[i]);
      const Wide grown = state.excess() - before;
      if (grown <= 0) continue;
      CHECK(state.new_excess() > 0);
      ++more;
      equal += state.new_excess() == grown;
    }
  }
  MESSAGE(more << " make more overflow, " << equal << " of them by so much");
  CHECK(more > 500);
  CHECK(equal * 2 > more);
}

TEST_CASE("where there is room for an op, its unit and its wait do not clash") {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, everything());
    Random random(seed);
    PartialSchedule state(problem, random.range(1, 9));
    for (const int v : shuffled(problem.ops.size(), random)) {
      if (state.slots_of(v).empty()) break;
      const int w = state.slots_of(v)[random.below(state.slots_of(v).size())];
      const Cycle from = random.range(-9, 9), to = from + random.range(-1, 12);
      std::optional<Cycle> first, last;
      for (Cycle t = from; t <= to; ++t) {
        state.place(v, w, t);
        const auto clash = state.clash();
        state.remove(v);
        if (!clash) {
          if (!first) first = t;
          last = t;
        }
      }
      // It leaves out nothing that is without a clash.
      const auto room = state.first_room(v, w, from, to), late = state.last_room(v, w, from, to);
      if (first) {
        REQUIRE(room);
        REQUIRE(late);
        CHECK(*room <= *first);
        CHECK(*late >= *last);
        ++found;
      }
      if (room) {
        CHECK(from <= *room);
        CHECK(*room <= to);
        state.place(v, w, *room);
        const auto clash = state.clash();
        // Of several reservations each alone has room.
        if (clash && problem.ops[static_cast<std::size_t>(v)].reservations.size() == 1)
          CHECK(clash->kind != Clash::unit);
        state.remove(v);
      }
      state.place(v, w, first.value_or(from));
    }
  }
  CHECK(found > 3000);
}

TEST_CASE("without those who are blamed a clash goes, or is the op's own") {
  int clashes = 0, own = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, everything());
    Random random(seed);
    const Schedule schedule = random_schedule(problem, random, 8);
    PartialSchedule state(problem, schedule.initiation_interval);
    if (!slots_allowed(state, schedule)) continue;
    for (const int v : shuffled(problem.ops.size(), random)) {
      const auto i = static_cast<std::size_t>(v);
      const auto again = [&] {
        state.place(v, schedule.warp[i], schedule.start[i]);
        return state.clash();
      };
      auto clash = again();
      if (!clash) continue;
      ++clashes;
      std::vector<int> blamed;
      while (clash && !(blamed = state.blamed(*clash, v)).empty()) {
        CHECK(std::is_sorted(blamed.begin(), blamed.end()));
        CHECK(std::adjacent_find(blamed.begin(), blamed.end()) == blamed.end());
        state.remove(v);
        for (const int u : blamed) {
          REQUIRE(u != v);
          REQUIRE(state.placed(u));
          state.remove(u);
        }
        clash = again();
      }
      if (!clash) break;
      // Nobody is to blame: with nothing else placed it is the same.
      ++own;
      state.remove(v);
      for (int u = 0; u < static_cast<int>(problem.ops.size()); ++u)
        if (state.placed(u)) state.remove(u);
      const auto alone = again();
      REQUIRE(alone);
      CHECK(alone->kind == clash->kind);
      CHECK(alone->index == clash->index);
      break;
    }
  }
  MESSAGE(clashes << " clashes, " << own << " of an op with itself");
  CHECK(clashes > 500);
  CHECK(own > 10);
}

}  // namespace partial_schedule_test
