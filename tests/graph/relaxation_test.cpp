// The lemma of relaxations against the judge: random schedules of random loops, on the same loops
// with smaller costs; and what the lemma refuses, of which some must break.
#include "graph/relaxation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "graph/check.hpp"
#include "graph/schedule.hpp"
#include "graph/verify.hpp"
#include "tests/support/random_loop.hpp"

namespace relaxation_test {

using namespace twill;
using namespace twill::test;

namespace {

LoopKnobs knobs_of(std::uint64_t seed) {
  LoopKnobs knobs;
  knobs.max_cycles = 5;
  knobs.max_channels = seed % 2 == 0 ? 2 : 0;
  knobs.flight = seed % 3 == 0;
  return knobs;
}

Problem loop_of(std::uint64_t seed) {
  return seed % 5 == 0 ? ring_loop(seed, knobs_of(seed)) : random_loop(seed, knobs_of(seed));
}

/// Some costs smaller; ops with cycles keep at least one, and what their segments need.
Problem cheaper(Problem problem, Random& random) {
  for (Op& op : problem.ops) {
    for (Reservation& r : op.reservations)
      if (random.percent(40)) r.length = random.range(1, r.length);
    Cycle needed = op.cycles > 0 ? 1 : 0;
    for (const Reservation& r : op.reservations) needed = std::max(needed, r.offset + r.length);
    if (random.percent(50)) op.cycles = random.range(needed, op.cycles);
    if (random.percent(50)) op.spill = random.range(0, op.spill);
    if (random.percent(30)) op.registers = random.range(0, op.registers);
    for (Traffic& t : op.traffic)
      if (random.percent(50)) t.amount.numerator = random.range(0, t.amount.numerator);
  }
  for (Edge& edge : problem.edges) {
    if (random.percent(50)) edge.delay = random.range(0, edge.delay);
    if (random.percent(50)) edge.hold = random.range(0, edge.hold);
  }
  return problem;
}

bool keeps(const Problem& problem, Schedule schedule) {
  schedule.length = schedule_length(problem, schedule.start);
  return !verify(problem, schedule);
}

/// Is the problem one that check() accepts?
bool is_loop(const Problem& problem) {
  try {
    check(problem);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

TEST_CASE("smaller costs: every schedule that the judge accepts is still accepted") {
  int schedules = 0, segments = 0, rings = 0, channels = 0, flights = 0;
  for (std::uint64_t seed = 1; seed <= 12'000; ++seed) {
    CAPTURE(seed);
    const Problem tight = loop_of(seed);
    Random random(seed);
    for (int n = 0; n < 6; ++n) {
      const Schedule schedule = random_schedule(tight, random, 12);
      if (verify(tight, schedule)) continue;
      const Problem loose = cheaper(tight, random);
      if (!is_loop(loose)) continue;  // a delay of 0 may close a circle of distance 0
      CHECK(no_relaxation(tight, loose) == std::nullopt);
      CHECK(keeps(loose, schedule));
      ++schedules;
      segments += !single_segments(tight);
      channels += !tight.channels.empty();
      for (const Memory& m : tight.memories) rings += m.rings;
      for (const Op& op : tight.ops) flights += op.in_flight;
    }
  }
  MESSAGE("schedules: ", schedules, ", with segments behind the issue: ", segments,
          ", charged rings: ", rings, ", channels: ", channels, ", in flight: ", flights);
  CHECK(std::min({schedules / 4, segments, rings, channels, flights}) > 500);
}

TEST_CASE("what is no relaxation is refused; of each kind some schedules do break") {
  constexpr std::array kinds = {"offset", "cycles to 0", "delay", "hold",    "spill",
                                "length", "traffic",     "more",  "capacity"};
  std::array<int, kinds.size()> refused{}, broken{};
  for (std::uint64_t seed = 1; seed <= 12'000; ++seed) {
    const Problem tight = loop_of(seed);
    Random random(seed);
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      Problem changed = tight;
      Op& op = changed.ops[static_cast<std::size_t>(
          random.range(0, static_cast<std::int64_t>(changed.ops.size()) - 1))];
      switch (kind) {
        case 0:  // a segment that begins earlier, and is no longer
          for (Reservation& r : op.reservations)
            if (r.offset > 0) --r.offset;
          break;
        case 1:
          op.cycles = 0;
          op.reservations.clear();
          break;
        case 2:
          if (!changed.edges.empty()) ++changed.edges[0].delay;
          break;
        case 3:
          if (!changed.edges.empty()) ++changed.edges[0].hold;
          break;
        case 4: ++op.spill; break;
        case 5:
          if (!op.reservations.empty() && op.cycles > 0) {
            ++op.cycles;
            ++op.reservations.back().length;
          }
          break;
        case 6:
          for (Traffic& t : op.traffic) t.amount.numerator += 40;
          break;
        case 7: ++op.registers; break;
        default:
          if (!changed.memories.empty()) changed.memories[0].capacity /= 2;
      }
      if (changed == tight || !is_loop(changed)) continue;
      CAPTURE(seed);
      CAPTURE(kinds[kind]);
      CHECK(no_relaxation(tight, changed).has_value());
      ++refused[kind];
      for (int n = 0; n < 3; ++n) {
        const Schedule schedule = random_schedule(tight, random, 12);
        broken[kind] += !verify(tight, schedule) && !keeps(changed, schedule);
      }
    }
  }
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    CAPTURE(kinds[kind]);
    CAPTURE(refused[kind]);
    CHECK(broken[kind] > 0);
  }
}

}  // namespace relaxation_test
