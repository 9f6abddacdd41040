// Attempts run ahead of time: whatever the number of threads, the outcomes, the conflicts counted
// and the evidence kept are those of running them one by one.
#include <doctest/doctest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "engine/certificate/certificate.hpp"
#include "engine/race.hpp"
#include "graph/synthetic.hpp"
#include "tests/support/attention_loop.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace race_test {

using namespace twill;
using namespace twill::test;

namespace {

/// More threads than this machine may have.
constexpr std::size_t kThreads = 4;

/// What an attempt of the test does: so many conflicts, unless it is stopped.
struct Task {
  int number = 0;
  int conflicts = 0;
  bool operator==(const Task&) const = default;
};
struct Done {
  int number = -1;
  bool stopped = false;
};

struct Sequence {
  std::vector<Done> outcomes;
  std::int64_t conflicts = 0;
  Stop reason = Stop::unsaid;
};

/// Takes tasks in order until one is stopped; after every third, those that were told ahead are
/// replaced by others, as when something has been decided.
Sequence run(int threads, std::int64_t limit, std::uint64_t seed, std::atomic<int>& begun) {
  const Problem problem = random_loop(1, {});
  const EncodingChoice choice;
  Budget budget({}, 0, limit, 0);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  Search search{problem, choice, 0, budget, report, order_engine()};
  search.threads = threads;
  Race<Task, Done> race(search, [&](const Task& task, Search& lane) {
    ++begun;
    for (int i = 0; i < task.conflicts; ++i) {
      lane.budget.count_conflict();
      if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
      if (lane.budget.spent()) return Done{task.number, true};
    }
    return Done{task.number, false};
  });
  CHECK(race.lanes_ahead() == static_cast<std::size_t>(threads) - 1);
  Random random(seed);
  Sequence sequence;
  int decided = 0;
  const auto task = [&](int number) {
    Random own(seed * 1000 + static_cast<std::uint64_t>(number));
    return Task{number, static_cast<int>(own.range(0, 60)) + decided};
  };
  for (int number = 0; number < 20; ++number) {
    std::vector<Task> next;
    for (int ahead = 1; ahead < 6 && number + ahead < 20; ++ahead)
      next.push_back(task(number + ahead));
    const auto taken = race.take(task(number), next);
    sequence.outcomes.push_back(taken.outcome);
    if (taken.outcome.stopped) break;
    if (number % 3 == 2) decided += static_cast<int>(random.range(0, 2));
  }
  sequence.conflicts = budget.conflicts();
  sequence.reason = budget.reason();
  return sequence;
}

void check_same(const Solution& one, const Solution& many) {
  CHECK(one.status == many.status);
  CHECK(one.schedule == many.schedule);
  CHECK(one.ii_lower_bound == many.ii_lower_bound);
  CHECK(one.length_lower_bound == many.length_lower_bound);
  CHECK(one.conflicts == many.conflicts);
  CHECK(one.clauses == many.clauses);
  CHECK(one.stop == many.stop);
}

}  // namespace

TEST_CASE("a race's outcomes are those of the sequence, with and without a limit on conflicts") {
  const oneapi::tbb::global_control allow(oneapi::tbb::global_control::max_allowed_parallelism,
                                          kThreads);
  std::atomic<int> one_by_one = 0, ahead = 0;
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const std::int64_t limit = seed % 2 == 0 ? 0 : static_cast<std::int64_t>(seed) * 17;
    const Sequence one = run(1, limit, seed, one_by_one);
    const Sequence many = run(static_cast<int>(kThreads), limit, seed, ahead);
    REQUIRE(one.outcomes.size() == many.outcomes.size());
    for (std::size_t i = 0; i < one.outcomes.size(); ++i) {
      CHECK(one.outcomes[i].number == static_cast<int>(i));
      CHECK(many.outcomes[i].number == static_cast<int>(i));
      CHECK(one.outcomes[i].stopped == many.outcomes[i].stopped);
    }
    CHECK(one.conflicts == many.conflicts);
    CHECK(one.reason == many.reason);
    cut += one.outcomes.back().stopped;
  }
  CHECK(cut > 10);
  CHECK(ahead > one_by_one);  // some were begun in vain
}

TEST_CASE("what a race leaves behind is stopped") {
  const oneapi::tbb::global_control allow(oneapi::tbb::global_control::max_allowed_parallelism,
                                          kThreads);
  const Problem problem = random_loop(1, {});
  const EncodingChoice choice;
  Budget budget({}, 0, 0, 0);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  Search search{problem, choice, 0, budget, report, order_engine()};
  search.threads = static_cast<int>(kThreads);
  std::atomic<int> running = 0;
  {
    Race<Task, Done> race(search, [&](const Task& task, Search& lane) {
      ++running;
      while (task.conflicts > 0 && !lane.budget.spent())  // for ever
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      --running;
      return Done{task.number, task.conflicts > 0};
    });
    const std::vector<Task> endless = {{1, 1}, {2, 1}, {3, 1}};
    race.take({0, 0}, {});
    race.take({0, 0}, endless);
    while (running == 0) std::this_thread::yield();  // some of them
    CHECK(race.take({0, 0}, std::vector<Task>{endless[2]}).outcome.number == 0);
  }
  CHECK(running == 0);
  CHECK(budget.conflicts() == 0);
}

TEST_CASE("an attention loop: the same solution and statistics by one thread and by four") {
  const oneapi::tbb::global_control allow(oneapi::tbb::global_control::max_allowed_parallelism,
                                          kThreads);
  const Problem problem = attention_loop(TWILL_TEST_DATA, "hopper-bwd-sub2");
  Options options;
  options.seed = 5;
  const auto solved_by = [&](int threads, std::int64_t limit) {
    options.threads = threads;
    options.conflict_limit = limit;
    return solve(problem, options);
  };
  const Solution whole = solved_by(1, 0);
  CHECK(whole.status == Status::optimal);
  const std::int64_t all = whole.conflicts;  // that it takes
  REQUIRE(all > 128);
  // The solver looks at a limit every 64 conflicts of a question.
  for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{1}, std::int64_t{64},
                                   std::int64_t{65}, all / 4, all / 2, all - 64, all + 64}) {
    CAPTURE(limit);
    const Solution one = solved_by(1, limit);
    check_same(one, solved_by(static_cast<int>(kThreads), limit));
    if (limit == 0 || limit > all) {
      check_same(one, whole);
      continue;
    }
    CHECK(one.status != Status::optimal);
    CHECK(one.stopped_by == "conflict limit");
    CHECK(one.conflicts >= limit);
    CHECK(one.conflicts <= all);
  }
}

// Ten times as long under the address sanitizer, which the other cases give enough to see.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kTooSlow = true;
#else
constexpr bool kTooSlow = false;
#endif

TEST_CASE("a hard loop, where both engines are tried: the same by one thread and by four" *
          doctest::skip(kTooSlow)) {
  const oneapi::tbb::global_control allow(oneapi::tbb::global_control::max_allowed_parallelism,
                                          kThreads);
  // Neighbourhoods have their turn, and then a coarse copy. Where the limit does not end the
  // search, it has become so good that this needs another loop.
  const Problem problem = synthetic_loop(
      {.seed = 45, .ops = 22, .width = 4, .recurrences = 1, .longest = 1000, .pressure = 60});
  Options options;
  options.conflict_limit = 29'500;
  options.threads = 1;
  const Solution one = solve(problem, options);
  options.threads = static_cast<int>(kThreads);
  check_same(one, solve(problem, options));
  REQUIRE(one.schedule);
  REQUIRE(one.stopped_by == "conflict limit");
  CHECK(one.conflicts >= options.conflict_limit);
}

TEST_CASE("evidence that was found ahead of time certifies the solution") {
  const oneapi::tbb::global_control allow(oneapi::tbb::global_control::max_allowed_parallelism,
                                          kThreads);
  const TemporaryDirectory directory;
  const Problem problem = attention_loop(TWILL_TEST_DATA, "hopper-fwd-plain");
  Options options;
  options.evidence = true;
  options.threads = 1;
  const Solution one = solve(problem, options);
  options.threads = static_cast<int>(kThreads);
  const Solution many = solve(problem, options);
  check_same(one, many);
  REQUIRE(many.evidence);
  CHECK(one.evidence->refutations().size() == many.evidence->refutations().size());
  write_certificate(directory / "c", problem, many);
  CertificateOptions without;
  without.drat_trim = false;
  const CertificateReport report = check_certificate(directory / "c", without);
  CHECK(report.refusal == "");
  CHECK(report.accepted);
}

TEST_CASE(
    "a budget keeps back a part of its conflicts, once there have been some, until released") {
  const auto spend = [](Budget& budget, std::int64_t conflicts) {
    for (std::int64_t i = 0; i < conflicts; ++i) budget.count_conflict();
  };
  SUBCASE("a sixteenth") {
    Budget budget({}, 0, 1'600, 0);
    budget.keep_back(100);
    Budget part(budget, {});
    CHECK(part.conflicts_left() == 1'500);
    spend(budget, 1'499);
    CHECK_FALSE(budget.spent());
    CHECK(budget.conflicts_left() == 1);
    spend(budget, 1);
    CHECK(budget.spent());
    CHECK(budget.reason() == Stop::conflict_limit);
    CHECK(budget.conflicts_left() == 0);
    budget.release();
    CHECK_FALSE(budget.spent());
    CHECK(budget.reason() == Stop::conflict_limit);  // of what has ended
    CHECK(budget.conflicts_left() == 100);
    budget.keep_back(100);
    budget.release();  // a later one that has not ended changes nothing
    CHECK(budget.reason() == Stop::conflict_limit);
    spend(budget, 100);
    CHECK(budget.spent());
    budget.release();  // the limit itself stays
    CHECK(budget.spent());
    CHECK(budget.reason() == Stop::conflict_limit);
  }
  SUBCASE("nothing is said where all was settled as it ended") {
    Budget budget({}, 0, 1'600, 0);
    budget.keep_back(100);
    spend(budget, 1'500);
    CHECK(budget.spent());
    budget.release(true);
    CHECK_FALSE(budget.spent());
    CHECK(budget.reason() == Stop::unsaid);
  }
  SUBCASE("less where most of them have to be there first, and nothing where all have") {
    for (const std::int64_t after : {1'550, 1'600, 5'000}) {
      CAPTURE(after);
      Budget budget({}, 0, 1'600, 0);
      budget.keep_back(after);
      spend(budget, std::min<std::int64_t>(after, 1'600) - 1);
      CHECK_FALSE(budget.spent());
      spend(budget, 1);
      CHECK(budget.spent());
      budget.release();
      CHECK(budget.reason() == Stop::conflict_limit);
      CHECK(budget.spent() == (after >= 1'600));
    }
  }
  SUBCASE("of time too") {
    Budget budget({}, 0.2, 0, 0);
    budget.keep_back(1);
    while (budget.elapsed() < 0.19) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // (A machine that is busy may be late.)
    if (budget.elapsed() < 0.199) CHECK_FALSE(budget.spent());
    if (budget.elapsed() < 0.199) {
      spend(budget, 1);
      CHECK(budget.spent());
      CHECK(budget.reason() == Stop::time_limit);
      budget.release();
      if (budget.elapsed() < 0.199) CHECK_FALSE(budget.spent());
      CHECK(budget.reason() == Stop::time_limit);
    }
  }
  SUBCASE("what has not ended goes on, and nothing is said") {
    Budget budget({}, 0, 1'600, 0);
    budget.keep_back(100);
    spend(budget, 1'400);
    CHECK_FALSE(budget.spent());
    budget.release();
    spend(budget, 199);
    CHECK_FALSE(budget.spent());
    CHECK(budget.reason() == Stop::unsaid);
  }
  SUBCASE("who stops it stops it") {
    std::stop_source stop;
    Budget budget(stop.get_token(), 0, 1'600, 0);
    budget.keep_back(0);
    stop.request_stop();
    CHECK(budget.spent());
    budget.release();
    CHECK(budget.spent());
    CHECK(budget.reason() == Stop::interrupt);
  }
}

}  // namespace race_test
