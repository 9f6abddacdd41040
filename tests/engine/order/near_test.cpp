// Searching near a schedule: what may move does, what may not stays, and the neighbourhoods are
// what they are said to be.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "engine/order/incremental_solver.hpp"
#include "engine/order/neighbourhoods.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/index.hpp"
#include "graph/synthetic.hpp"
#include "graph/verify.hpp"
#include "tests/support/random_loop.hpp"

namespace near_test {

using namespace twill;
using namespace twill::test;

namespace {

OrderRequest any_stages(const Search& search, Cycle low, Cycle high) {
  OrderRequest request = order::request_of(search, true);
  request.ii_low = order_range_allowed(search.problem, low, high) ? low : high;
  request.ii_high = high;
  return request;
}

}  // namespace

TEST_CASE("near a schedule: it is there itself, more room loses nothing, and what stays stays") {
  int found = 0, none = 0, widened = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.multi_segment = false;
    const Problem problem = random_loop(seed, knobs);
    const EncodingChoice choice;
    Budget budget({}, 0, 0, 0);
    const ProgressCallback silent;
    Reporter report(silent, budget);
    const Search search{problem, choice, seed % 2, budget, report, order_engine()};
    const Cycle low = lower_bounds(problem).front().value;
    const Cycle high = std::max(low, serial_ii(problem));
    order::IncrementalSolver question(search, any_stages(search, low, high));
    const Answer loose = question.ask(high);
    if (!loose.schedule) continue;
    const int ops = static_cast<int>(problem.ops.size());
    const std::vector<char> all(at(ops), 1);
    Schedule best = *loose.schedule;
    Random random(seed);
    for (;;) {
      const Cycle ii = best.initiation_interval;
      CAPTURE(ii);
      // The schedule itself, at its own I, whatever else may move.
      std::vector<char> free(at(ops), 0);
      for (char& f : free) f = random.percent(50) ? 1 : 0;
      for (const auto& mask : {std::vector<char>(at(ops), 0), free}) {
        const Answer same = question.look_near(best, mask, ii, 0);
        REQUIRE(same.schedule);
        CHECK_FALSE(verify(problem, *same.schedule));
        for (int v = 0; v < ops; ++v)
          if (mask[at(v)] == 0) CHECK(same.schedule->warp[at(v)] == best.warp[at(v)]);
      }
      if (ii - 1 < low || order_range_allowed(problem, low, high) == false) break;
      // One cycle below: with the orders of all, with those of some, with none.
      const bool fixed =
          question.look_near(best, std::vector<char>(at(ops), 0), ii - 1, 0).schedule.has_value();
      const Answer some = question.look_near(best, free, ii - 1, 0);
      std::vector<char> more = free;
      more[at(static_cast<int>(random.range(0, ops - 1)))] = 1;
      const bool wider = question.look_near(best, more, ii - 1, 0).schedule.has_value();
      const bool widest = question.look_near(best, all, ii - 1, 0).schedule.has_value();
      CHECK((!fixed || some.schedule.has_value()));
      CHECK((!some.schedule.has_value() || wider));
      CHECK((!wider || widest));
      widened += widest && !fixed;
      // What was learned under assumptions holds without them.
      const Answer answer = question.ask(ii - 1);
      order::IncrementalSolver afresh(search, any_stages(search, ii - 1, ii - 1));
      REQUIRE(answer.verdict == afresh.ask(ii - 1).verdict);
      REQUIRE(widest == answer.schedule.has_value());
      ++(widest ? found : none);
      if (!answer.schedule) break;
      best = *answer.schedule;
    }
  }
  CHECK(found > 100);
  CHECK(none > 40);
  CHECK(widened > 20);
}

TEST_CASE("a tightened schedule has nothing better with its orders") {
  int refuted = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const Problem problem = synthetic_loop({.seed = seed, .ops = 12, .width = 3, .longest = 50});
    const EncodingChoice choice;
    Budget budget({}, 0, 0, 0);
    const ProgressCallback silent;
    Reporter report(silent, budget);
    const Search search{problem, choice, 0, budget, report, order_engine()};
    const Cycle low = lower_bounds(problem).front().value;
    const Cycle high = std::max(low, serial_ii(problem));
    order::IncrementalSolver question(search, any_stages(search, low, high));
    const Answer loose = question.ask(high);
    if (!loose.schedule || !order_range_allowed(problem, low, high)) continue;
    const auto best = tighten(problem, problem, *loose.schedule, low, high);
    REQUIRE(best);
    const Cycle ii = best->initiation_interval;
    if (ii == low) continue;
    const std::vector<char> nothing(problem.ops.size(), 0);
    CHECK(question.look_near(*best, nothing, ii, 0).schedule);
    CHECK_FALSE(question.look_near(*best, nothing, ii - 1, 0).schedule);
    ++refuted;
  }
  CHECK(refuted > 3);
}

TEST_CASE("neighbourhoods: about what hinders the schedule, larger after refutations") {
  const Problem problem = synthetic_loop(
      {.seed = 3, .ops = 24, .width = 4, .recurrences = 2, .longest = 1000, .pressure = 60});
  const Solution solution = [&] {
    Options options;
    options.conflict_limit = 6'000;
    return solve(problem, options);
  }();
  REQUIRE(solution.schedule);
  const Schedule& best = *solution.schedule;
  const auto critical = critical_recurrence(problem, best);
  REQUIRE(critical);
  order::Neighbourhoods one(problem, 3), same(problem, 3), other(problem, 4);
  for (order::Neighbourhoods* n : {&one, &same, &other}) n->around(best);
  const auto size = [](const std::vector<char>& free) {
    return std::count(free.begin(), free.end(), 1);
  };
  std::set<std::vector<char>> met;
  bool differ = false;
  for (int i = 0; i < 60; ++i) {
    const std::vector<char> free = one.next();
    CHECK(free.size() == 24);
    CHECK(size(free) == 8);
    CHECK(free == same.next());
    differ = differ || free != other.next();
    CHECK(std::any_of(critical->steps.begin(), critical->steps.end(), [&](const auto& step) {
      return free[at(step.from)] != 0 || free[at(step.to)] != 0;
    }));
    met.insert(free);
  }
  CHECK(differ);
  CHECK(met.size() > 40);
  one.refuted();
  CHECK(size(one.next()) == 9);
  for (int i = 0; i < 40; ++i) one.refuted();
  CHECK(size(one.next()) == 24);
  for (int i = 0; i < 50; ++i) one.left_open();
  CHECK(size(one.next()) == 4);
}

}  // namespace near_test
