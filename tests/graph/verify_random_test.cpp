// verify() and the oracle's arithmetic modulo I give the same verdict and name the same rule.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "graph/check.hpp"
#include "graph/verify.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

namespace verify_random_test {

using namespace twill;
using namespace twill::test;

namespace {

constexpr int kProblems = 5000;

/// Half of the loops have channels, and loads in flight.
Problem some_loop(int seed) {
  LoopKnobs knobs;
  knobs.max_channels = seed % 2 == 0 ? 2 : 0;
  knobs.flight = seed % 4 < 2;
  return random_loop(static_cast<std::uint64_t>(seed), knobs);
}

std::string by_verify(const Problem& problem, const Schedule& schedule) {
  const auto violation = verify(problem, schedule);
  return violation ? violation->rule : "accepted";
}

std::string by_oracle(const Problem& problem, const Schedule& schedule) {
  return broken_rule(problem, schedule).value_or("accepted");
}

/// Calls visit(problem, schedule) for accepted schedules of random problems; returns their number.
template <class Visit>
int for_accepted(int problems, Visit visit) {
  int accepted = 0;
  for (int seed = 0; seed < problems; ++seed) {
    const Problem problem = some_loop(seed);
    Random random(static_cast<std::uint64_t>(seed) + 1'000'000);
    for (int tries = 0; tries < 6; ++tries) {
      const Schedule schedule = random_schedule(problem, random, 9);
      if (verify(problem, schedule)) continue;
      ++accepted;
      visit(problem, schedule, random);
    }
  }
  return accepted;
}

}  // namespace

TEST_CASE("random schedules of random problems") {
  std::map<std::string, int> seen;
  for (int seed = 0; seed < kProblems; ++seed) {
    const Problem problem = some_loop(seed);
    CAPTURE(seed);
    CHECK_NOTHROW(check(problem));
    Random random(static_cast<std::uint64_t>(seed));
    for (int i = 0; i < 20; ++i) {
      const Schedule schedule = random_schedule(problem, random, 8);
      const std::string verdict = by_verify(problem, schedule);
      REQUIRE(verdict == by_oracle(problem, schedule));
      ++seen[verdict];
    }
  }
  // Neither side of the comparison is rare.
  for (const char* verdict :
       {"accepted", "warp uniqueness", "variable latency", "dependence", "cross-warp spill",
        "channel", "capacity", "memory", "registers", "concurrency"}) {
    CAPTURE(verdict);
    CHECK(seen[verdict] >= 200);
  }
  CHECK(seen.size() == 10);
}

TEST_CASE("every change of one field of an accepted schedule") {
  std::map<std::string, int> seen;
  const int accepted =
      for_accepted(kProblems, [&](const Problem& problem, const Schedule& schedule, Random&) {
        CAPTURE(problem.name);
        REQUIRE(by_oracle(problem, schedule) == "accepted");
        const auto compare = [&](const Schedule& changed) {
          const std::string verdict = by_verify(problem, changed);
          REQUIRE(verdict == by_oracle(problem, changed));
          ++seen[verdict];
        };
        for (const Cycle step : {-1, 1}) {
          Schedule changed = schedule;
          changed.initiation_interval += step;
          compare(changed);
          changed = schedule;
          changed.length += step;
          compare(changed);
        }
        const Cycle interval = schedule.initiation_interval;
        for (std::size_t v = 0; v < problem.ops.size(); ++v) {
          for (const Cycle step : {-interval, Cycle{-1}, Cycle{1}, interval}) {
            Schedule changed = schedule;
            changed.start[v] += step;
            compare(changed);
            changed.length = schedule_length(problem, changed.start);
            compare(changed);
          }
          for (int w = -1; w <= static_cast<int>(problem.warps.size()); ++w) {
            Schedule changed = schedule;
            changed.warp[v] = w;
            compare(changed);
          }
        }
        Schedule changed = schedule;
        changed.start.pop_back();
        compare(changed);
        changed = schedule;
        changed.warp.push_back(0);
        compare(changed);
      });
  CHECK(accepted >= 1000);
  CHECK(seen.size() == 14);
  for (const auto& [verdict, count] : seen) {
    CAPTURE(verdict);
    CHECK(count >= 100);
  }
}

TEST_CASE("a schedule shifted as a whole is judged the same") {
  const int accepted =
      for_accepted(1000, [](const Problem& problem, Schedule schedule, Random& random) {
        CAPTURE(problem.name);
        const Cycle shift = random.range(1, 3 * schedule.initiation_interval);
        for (Cycle& start : schedule.start) start += shift;
        schedule.length += shift;
        REQUIRE(by_verify(problem, schedule) == "accepted");
        REQUIRE(by_oracle(problem, schedule) == "accepted");
      });
  CHECK(accepted >= 200);
}

TEST_CASE("schedules of more stages than are replayed from cycle 0") {
  std::map<std::string, int> seen;
  for (int seed = 0; seed < 1000; ++seed) {
    Problem problem = some_loop(seed);
    CAPTURE(seed);
    Random random(static_cast<std::uint64_t>(seed) + 7);
    if (random.percent(50))  // room for thousands of copies
      for (WarpSlot& slot : problem.warps) slot.registers *= random.range(1, 6'000);
    for (int i = 0; i < 10; ++i) {
      Schedule schedule = random_schedule(problem, random, 6);
      const Cycle shift = schedule.initiation_interval * random.range(990, 2'000);
      const auto late = static_cast<std::size_t>(random.range(0, std::ssize(schedule.start) - 1));
      const bool all = random.percent(30);
      for (std::size_t v = 0; v < schedule.start.size(); ++v)
        if (all || v == late) schedule.start[v] += shift;
      schedule.length = schedule_length(problem, schedule.start);
      const std::string verdict = by_verify(problem, schedule);
      REQUIRE(verdict == by_oracle(problem, schedule));
      ++seen[verdict];
    }
  }
  for (const char* verdict :
       {"accepted", "dependence", "capacity", "memory", "registers", "concurrency"}) {
    CAPTURE(verdict);
    CHECK(seen[verdict] >= 20);
  }
}

// Each finding stands for something that is broken: the first is verify()'s, and without the edge
// that a finding about dependences names, there is one less.
TEST_CASE("all that is wrong") {
  std::map<std::size_t, int> seen;
  int edges = 0;
  for (int seed = 0; seed < kProblems; ++seed) {
    CAPTURE(seed);
    const Problem problem = some_loop(seed);
    Random random(static_cast<std::uint64_t>(seed) + 2'000'000);
    const Schedule schedule = random_schedule(problem, random, 9);
    const std::vector<Violation> all = verify_all(problem, schedule);
    const auto first = verify(problem, schedule);
    ++seen[std::min<std::size_t>(all.size(), 4)];
    REQUIRE(all.empty() == !first);
    if (!first) continue;
    CHECK(all.front().rule == first->rule);
    CHECK(all.front().text == first->text);
    const auto about_edges = [](const std::vector<Violation>& list) {
      return std::count_if(list.begin(), list.end(), [](const Violation& v) {
        return v.rule == "dependence" || v.rule == "cross-warp spill";
      });
    };
    if (about_edges(all) == 0) continue;
    std::ptrdiff_t broken = 0;
    for (std::size_t e = 0; e < problem.edges.size(); ++e) {
      Problem without = problem;
      without.edges.erase(without.edges.begin() + static_cast<std::ptrdiff_t>(e));
      const std::ptrdiff_t left = about_edges(verify_all(without, schedule));
      CHECK(about_edges(all) - left <= 1);
      broken += about_edges(all) - left;
    }
    CHECK(broken == about_edges(all));
    ++edges;
  }
  CHECK(seen[0] > 500);
  for (const std::size_t number : {1, 2, 3, 4}) CHECK(seen[number] > 50);
  CHECK(edges > 200);
}

}  // namespace verify_random_test
