// Shorter schedules near one that is known: what may move does, the deadline is kept, and nothing
// is lost where all may move.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/order/incremental_solver.hpp"
#include "engine/order/neighbourhoods.hpp"
#include "engine/order/order.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/index.hpp"
#include "graph/synthetic.hpp"
#include "graph/verify.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/search_bench.hpp"

namespace shorten_test {

using namespace twill;
using namespace twill::test;

TEST_CASE(
    "near a schedule within a deadline: what stays stays, and nothing is lost where all moves") {
  int shorter = 0, none = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.multi_segment = false;
    const Problem problem = random_loop(seed, knobs);
    Options options;
    options.explain = false;
    options.threads = 1;
    const Solution best = solve(problem, options);
    if (!best.schedule) continue;
    REQUIRE(best.status == Status::optimal);
    const Cycle ii = best.schedule->initiation_interval, least = best.schedule->length;
    SearchBench bench(problem, seed % 2);
    // Any schedule of this I, and then shorter and shorter ones near it.
    OrderRequest request = order::request_within(bench.search, ii, least + 7);
    request.at_once = seed % 3 == 0;
    order::IncrementalSolver question(bench.search, request);
    const Answer any = question.ask(ii, least + 7);
    REQUIRE(any.schedule);
    Schedule now = *any.schedule;
    const std::vector<char> all(problem.ops.size(), 1);
    Random random(seed);
    while (now.length > least) {
      const Cycle deadline = now.length - 1;
      std::vector<char> free(all.size(), 0);
      for (char& f : free) f = random.percent(60) ? 1 : 0;
      const Answer some = question.look_near(now, free, ii, 0, deadline);
      const Answer answer = question.look_near(now, all, ii, 0, deadline);
      REQUIRE(answer.schedule);
      for (const Answer* one : {&some, &answer}) {
        if (!one->schedule) continue;
        CHECK_FALSE(verify(problem, *one->schedule));
        CHECK(one->schedule->length <= deadline);
      }
      if (some.schedule)
        for (std::size_t v = 0; v < all.size(); ++v)
          if (free[v] == 0) CHECK(some.schedule->warp[v] == now.warp[v]);
      now = *answer.schedule;
      ++shorter;
    }
    if (least == 0) continue;  // nothing is shorter
    CHECK_FALSE(question.look_near(now, all, ii, 0, least - 1).schedule);
    CHECK(question.ask(ii, least - 1).verdict == Verdict::unsat);
    ++none;
  }
  CHECK(shorter > 30);
  CHECK(none > 40);
}

TEST_CASE("shorten: after a hard search only, until it is short enough, the same every time") {
  int shortened = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    HiddenKnobs knobs;
    knobs.seed = seed;
    knobs.ops = 40;
    knobs.longest = 40;
    const HiddenLoop loop = hidden_loop(knobs);
    const Cycle length = loop.schedule.length;
    Schedule found[2];
    for (Schedule& one : found) {
      SearchBench bench(loop.problem);
      one = loop.schedule;
      order::shorten(bench.search, one, length - 1);
      CHECK(one.start == loop.schedule.start);  // nothing was hard
      for (int i = 0; i < 6'000; ++i) bench.budget.count_conflict();
      order::shorten(bench.search, one, length - 1);
      CHECK_FALSE(verify(loop.problem, one));
      CHECK(one.initiation_interval == loop.schedule.initiation_interval);
      CHECK(one.length <= length);
    }
    CHECK(found[0].start == found[1].start);
    shortened += found[0].length < length;
  }
  CHECK(shortened > 0);
}

TEST_CASE("shorten: with about as many conflicts as it is allowed") {
  HiddenKnobs knobs;
  knobs.ops = 40;
  knobs.longest = 40;
  const HiddenLoop loop = hidden_loop(knobs);
  for (const std::int64_t most : {1, 250}) {
    CAPTURE(most);
    SearchBench bench(loop.problem);
    Schedule best = loop.schedule;
    order::shorten_near(bench.search, best, 1, most);
    CHECK_FALSE(verify(loop.problem, best));
    CHECK(best.length <= loop.schedule.length);
    CHECK(bench.budget.conflicts() > 0);
    CHECK(bench.budget.conflicts() < most + 150);  // a neighbourhood has 100
  }
}

TEST_CASE("a search for I that is stopped ends with a short schedule, the same every time") {
  const Problem problem = synthetic_loop(
      {.seed = 1, .ops = 50, .width = 10, .recurrences = 4, .longest = 1000, .pressure = 80});
  std::optional<Schedule> found[2];
  for (std::optional<Schedule>& one : found) {
    constexpr std::int64_t kBefore = 12'000, kLimit = 16'000, kLeft = kLimit / 16;
    Budget budget({}, 0, kLimit, 0);
    SearchBench bench(problem);
    const Search search = bench.search.with(problem, budget, bench.report);
    for (int i = 0; i < kBefore; ++i) budget.count_conflict();
    const Cycle low = lower_bounds(problem).front().value;
    Interval interval = order::smallest_interval(search, low);
    REQUIRE(interval.best);
    CHECK(interval.low < interval.best->initiation_interval);
    CHECK_FALSE(verify(problem, *interval.best));
    // Something is left for lengths,
    CHECK_FALSE(budget.spent());
    CHECK(budget.reason() == Stop::conflict_limit);
    CHECK(budget.conflicts_left() > kLeft / 2);
    CHECK(budget.conflicts_left() <= kLeft);
    // and it is short already: without that it has 20,000 cycles and more.
    CHECK(interval.best->length < 15'000);
    one = std::move(interval.best);
  }
  CHECK(found[0]->start == found[1]->start);
  CHECK(found[0]->warp == found[1]->warp);
}

TEST_CASE("neighbourhoods of a length are about what ends last and what holds it") {
  const Problem problem = synthetic_loop({.seed = 3, .ops = 24, .width = 4, .longest = 1000});
  Options options;
  options.threads = 1;
  options.conflict_limit = 500;
  const Solution solution = solve(problem, options);
  if (!solution.schedule) return;
  const Schedule& schedule = *solution.schedule;
  order::Neighbourhoods one(problem, 5, order::Neighbourhoods::Aim::length),
      same(problem, 5, order::Neighbourhoods::Aim::length);
  one.around(schedule);
  same.around(schedule);
  bool last = false;
  for (int i = 0; i < 60; ++i) {
    const std::vector<char> free = one.next();
    CHECK(free == same.next());
    CHECK(std::count(free.begin(), free.end(), 1) == 8);
    for (std::size_t v = 0; v < free.size(); ++v)
      last = last || (free[v] != 0 && schedule.start[v] + problem.ops[v].cycles == schedule.length);
  }
  CHECK(last);
}

}  // namespace shorten_test
