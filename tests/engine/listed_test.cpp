// The list scheduler inside the searches: large loops have a schedule before any formula is solved,
// within what was asked, the same with any number of threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "engine/budget.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/verify.hpp"
#include "tests/support/sanitized.hpp"
#include "twill.hpp"

namespace listed_test {

using namespace twill;

namespace {

HiddenLoop large_loop(int ops) {
  HiddenKnobs knobs;
  knobs.ops = ops;
  knobs.filled = 95;
  return hidden_loop(knobs);
}

// No formula comes far.
Solution hardly_searched(const Problem& problem, const std::string& engine,
                         const std::string& stages = "complete", int threads = 1) {
  Options options;
  options.engine = engine;
  options.stages = stages;
  options.conflict_limit = 1;
  options.threads = threads;
  return solve(problem, options);
}

}  // namespace

TEST_CASE("stopped at once, a large loop has a schedule near the hidden one") {
  const HiddenLoop loop = large_loop(160);
  for (const char* engine : {"order", "time_indexed"}) {
    CAPTURE(engine);
    const Solution solution = hardly_searched(loop.problem, engine);
    CHECK(solution.stop == Stop::conflict_limit);
    REQUIRE(solution.schedule);
    CHECK(!verify(loop.problem, *solution.schedule));
    CHECK(solution.schedule->initiation_interval * 10 <= loop.schedule.initiation_interval * 11);
    CHECK(solution.schedule->initiation_interval >= solution.ii_lower_bound);
  }
}

TEST_CASE("a schedule of more stages than asked for is no answer") {
  const HiddenLoop loop = large_loop(160);
  const Solution any = hardly_searched(loop.problem, "order");
  REQUIRE(any.schedule);
  REQUIRE(stage_count(*any.schedule) > 1);
  const Solution one = hardly_searched(loop.problem, "order", "1");
  if (one.schedule) CHECK(stage_count(*one.schedule) == 1);
}

TEST_CASE("where formulas do not fit in memory, lists go on") {
  if (test::kSanitized) return;  // what is freed is kept for a while there
  const HiddenLoop loop = large_loop(160);
  Options options;
  options.memory_limit = resident_memory() + (40 << 20);
  const auto is_right = [&](const Solution& solution) {
    REQUIRE(solution.schedule);
    CHECK(!verify(loop.problem, *solution.schedule));
    CHECK(solution.schedule->length >= solution.length_lower_bound);
    CHECK(solution.schedule->initiation_interval >= solution.ii_lower_bound);
    CHECK(std::any_of(solution.options.begin(), solution.options.end(),
                      [](const auto& option) { return option.first == "not begun for memory"; }));
  };
  // Without a limit of time the search ends with the memory.
  const Solution ended = solve(loop.problem, options);
  CHECK(ended.stop == Stop::memory_limit);
  is_right(ended);
  // With one the lists do not end before, however little they gain.
  options.time_limit = ended.seconds + 2;
  const Solution timed = solve(loop.problem, options);
  CHECK(timed.stop == Stop::time_limit);
  CHECK(timed.seconds > ended.seconds);
  is_right(timed);
}

TEST_CASE("the same with any number of threads") {
  const HiddenLoop loop = large_loop(80);
  const Solution alone = hardly_searched(loop.problem, "order");
  for (const int threads : {2, 4}) {
    CAPTURE(threads);
    CHECK(hardly_searched(loop.problem, "order", "complete", threads).schedule == alone.schedule);
  }
}

}  // namespace listed_test
