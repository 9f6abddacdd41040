// The list scheduler: what it finds the judge accepts, and it is no better than the best there is.
#include "graph/list_scheduling/list_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/bounds/bounds.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/list_scheduling/list_order.hpp"
#include "graph/loop.hpp"
#include "graph/verify.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/wild_loop.hpp"

namespace list_schedule_test {

using namespace twill;
using namespace twill::test;

namespace {

bool some_interval(const Problem& problem) {
  return positive_cycle(problem, kMaxInterval).empty();
}

Problem small_loop(std::uint64_t seed) {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  return seed % 3 == 0 ? ring_loop(seed, knobs) : random_loop(seed, knobs);
}

}  // namespace

TEST_CASE("small loops: never better than the best of all, often as good") {
  int found = 0, best = 0, missed = 0;
  for (std::uint64_t seed = 0; seed < 1500 / test::kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = small_loop(seed);
    if (!some_interval(problem)) continue;
    const Cycle low = lower_bounds(problem).front().value;
    const auto listed = list_schedule(problem, low);
    const auto optimum = brute_force(problem, 14, 3);
    if (listed) {
      const auto violation = verify(problem, *listed);
      CHECK_MESSAGE(!violation, violation->text);
      CHECK(listed->initiation_interval >= low);
      ++found;
      if (!optimum) continue;  // the enumeration ends at an interval and a number of stages
      best += listed->initiation_interval <= optimum->initiation_interval;
      if (stage_count(*listed) <= 3)
        CHECK(listed->initiation_interval >= optimum->initiation_interval);
    } else if (optimum) {
      ++missed;
    }
  }
  MESSAGE(found << " found, " << best << " of them the best, " << missed << " missed");
  CHECK(found > 900 / test::kShare);
  CHECK(best > found * 8 / 10);
  CHECK(missed <= found / 20);
}

TEST_CASE("wild loops: accepted, or none") {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 3000 / test::kShare; ++seed) {
    CAPTURE(seed);
    const WildCase wild = wild_case(seed);
    const Problem& problem = wild.problem;
    if (!some_interval(problem)) continue;
    const Cycle low = lower_bounds(problem).front().value;
    const auto listed = list_schedule(problem, low);
    if (!listed) continue;
    ++found;
    const auto violation = verify(problem, *listed);
    CHECK_MESSAGE(!violation, violation->text);
    CHECK(listed->initiation_interval >= low);
  }
  CHECK(found > 500 / test::kShare);
}

TEST_CASE("hidden loops: always a schedule, the same each time, within a tenth of the hidden one") {
  for (const int ops : {20, 60, 120})
    for (const int filled : {60, 95}) {
      HiddenKnobs knobs;
      knobs.ops = ops;
      knobs.filled = filled;
      const HiddenLoop loop = hidden_loop(knobs);
      CAPTURE(loop.problem.name);
      const Cycle low = lower_bounds(loop.problem).front().value;
      const auto listed = list_schedule(loop.problem, low);
      REQUIRE(listed);
      CHECK(listed->initiation_interval * 10 <= loop.schedule.initiation_interval * 11);
      const auto again = list_schedule(loop.problem, low);
      CHECK(listed == again);
      // Little effort is no reason for a wrong one.
      ListScheduleOptions little;
      little.effort = 1;
      if (const auto quick = list_schedule(loop.problem, low, little))
        CHECK(!verify(loop.problem, *quick));
    }
}

// From nothing at each interval they were 8.6 and 1.6 % above; with a whole pass for each attempt
// near the best, the first 4.3 %.
TEST_CASE(
    "hidden loops of 200 ops without slack: near the best, below it, within 2.5 % of the bound") {
  for (const std::uint64_t seed : {1U, 2U}) {
    if (!test::kThorough && seed > 1) break;
    HiddenKnobs knobs;
    knobs.ops = 200;
    knobs.seed = seed;
    const HiddenLoop loop = hidden_loop(knobs);
    CAPTURE(loop.problem.name);
    const Cycle low = lower_bounds(loop.problem).front().value;
    const auto listed = list_schedule(loop.problem, low);
    REQUIRE(listed);
    const auto violation = verify(loop.problem, *listed);
    CHECK_MESSAGE(!violation, violation->text);
    CHECK((listed->initiation_interval - low) * 40 <= low);
  }
}

TEST_CASE(
    "shorter at the same interval: accepted, never below the shortest of all, often as short") {
  int shorter = 0, best = 0, asked = 0;
  for (std::uint64_t seed = 0; seed < 1500 / test::kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = small_loop(seed);
    if (!some_interval(problem)) continue;
    const auto listed = list_schedule(problem, lower_bounds(problem).front().value);
    if (!listed) continue;
    // One that is longer than it need be: every op later, by stages of its own.
    Schedule longer = *listed;
    const Cycle ii = longer.initiation_interval;
    for (std::size_t v = 0; v < longer.start.size(); ++v)
      longer.start[v] += ii * static_cast<Cycle>((seed >> v) % 3);
    longer.length = schedule_length(problem, longer.start);
    const Schedule& from = verify(problem, longer) ? *listed : longer;
    ListScheduleOptions options;
    options.seed = seed;
    const Schedule found = list_shorten(problem, from, 0, options);
    const auto violation = verify(problem, found);
    CHECK_MESSAGE(!violation, violation->text);
    CHECK(found.initiation_interval == ii);
    CHECK(found.length <= from.length);
    CHECK(list_shorten(problem, from, 0, options) == found);
    CHECK(list_shorten(problem, from, from.length, options) == from);  // as short as is asked
    shorter += found.length < from.length;
    const auto shortest = brute_force_at(problem, ii, 3);
    if (!shortest) continue;  // of more stages
    ++asked;
    best += found.length <= shortest->length;
    if (stage_count(found) <= 3) CHECK(found.length >= shortest->length);
  }
  MESSAGE(asked << " asked, " << best << " of them the shortest, " << shorter << " shorter");
  CHECK(shorter > 200 / test::kShare);
  CHECK(best > asked * 9 / 10);
}

TEST_CASE("hidden loops of 200 ops: a fifth of the registers taken, within 10 % of the shortest") {
  HiddenKnobs knobs;
  knobs.ops = 200;
  knobs.filled = 20;
  const HiddenLoop loop = hidden_loop(knobs);
  const auto listed = list_schedule(loop.problem, lower_bounds(loop.problem).front().value);
  REQUIRE(listed);
  const Cycle low = length_bounds(loop.problem, listed->initiation_interval).front().value;
  const Schedule found = list_shorten(loop.problem, *listed, low);
  CHECK_FALSE(verify(loop.problem, found));
  CHECK(listed->length * 10 > low * 13);  // it was 48 % above
  CHECK(found.length * 10 <= low * 11);
}

TEST_CASE("asked to stop, it stops") {
  HiddenKnobs knobs;
  knobs.ops = 200;
  const HiddenLoop loop = hidden_loop(knobs);
  int asked = 0;
  ListScheduleOptions options;
  options.stop = [&] { return ++asked > 2; };
  (void)list_schedule(loop.problem, lower_bounds(loop.problem).front().value, options);
  CHECK(asked == 3);
}

TEST_CASE("orders: every op once; producers first; the tightest cycle first") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.max_ops = 9;
    const Problem problem = random_loop(seed, knobs);
    if (!some_interval(problem)) continue;
    const Cycle low = lower_bounds(problem).front().value;
    std::vector<int> all(problem.ops.size());
    std::iota(all.begin(), all.end(), 0);
    const std::vector<int> height = height_order(problem), swing = swing_order(problem, low);
    for (const auto* order : {&height, &swing}) {
      std::vector<int> sorted = *order;
      std::sort(sorted.begin(), sorted.end());
      CHECK(sorted == all);
    }
    std::vector<std::size_t> place(all.size());
    for (std::size_t i = 0; i < height.size(); ++i) place[static_cast<std::size_t>(height[i])] = i;
    for (const Edge& e : problem.edges)
      if (e.distance == 0)
        CHECK(place[static_cast<std::size_t>(e.from)] < place[static_cast<std::size_t>(e.to)]);
  }
  // Two carried cycles: of 2 and of 9 cycles an iteration; then what hangs on them.
  Problem two;
  two.name = "two-cycles";
  two.units = {{.name = "alu", .capacity = 8}};
  two.warps = {{.name = "w"}};
  for (const char* name : {"tail", "a", "b", "c", "d"}) {
    Op op;
    op.id = name;
    op.cycles = 1;
    two.ops.push_back(op);
  }
  const auto edge = [&](int from, int to, Cycle delay, int distance) {
    Edge e;
    e.from = from;
    e.to = to;
    e.delay = delay;
    e.distance = distance;
    two.edges.push_back(e);
  };
  edge(1, 2, 1, 0);
  edge(2, 1, 1, 1);
  edge(3, 4, 5, 0);
  edge(4, 3, 4, 1);
  edge(4, 0, 1, 0);
  const std::vector<int> order = swing_order(two, 9);
  CHECK(std::min(order[0], order[1]) == 3);
  CHECK(std::max(order[0], order[1]) == 4);
}

}  // namespace list_schedule_test
