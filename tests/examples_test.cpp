// The example problems have the answers that their description claims, by exhaustive search.
#include <doctest/doctest.h>

#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/problem_io.hpp"
#include "graph/verify.hpp"
#include "tests/support/brute_force.hpp"

namespace examples_test {

using namespace twill;
using namespace twill::test;

namespace {

Problem example(const std::string& name) {
  return read_problem(TWILL_TEST_DATA "/examples/" + name + ".problem.json");
}

/// Exhaustive at this I: with as many stages as are proved to be enough, and two more.
std::optional<Schedule> best_at(const Problem& problem, Cycle interval) {
  auto found = brute_force_at(problem, interval, stage_bound(problem, interval) + 2);
  if (found) CHECK_FALSE(verify(problem, *found));
  return found;
}

/// Checks that no I below `interval` has a schedule and that the shortest at it has `length`.
void check_optimum(const Problem& problem, Cycle interval, Cycle length) {
  CAPTURE(problem.name);
  for (Cycle smaller = 1; smaller < interval; ++smaller) {
    CAPTURE(smaller);
    CHECK_FALSE(best_at(problem, smaller));
  }
  const auto found = best_at(problem, interval);
  REQUIRE(found);
  CHECK(found->length == length);
}

std::string text(const std::optional<Violation>& violation) {
  return violation ? violation->text : "accepted";
}

}  // namespace

TEST_CASE("figure-1: I = 2, L = 4 (the paper's Figure 1)") {
  const Problem problem = example("figure-1");
  check_optimum(problem, 2, 4);
  CHECK(text(verify(problem, {2, 4, {0, 2, 3}, {0, 0, 0}})) == "accepted");
  CHECK(text(verify(problem, {2, 3, {0, 1, 2}, {0, 0, 0}})) ==
        "capacity of TC at cycle 2: S[1] 1 + O[0] 1 = 2 > 1");
}

TEST_CASE("undercount: no I at all, though the straight-line program accepts I = 2") {
  const Problem problem = example("undercount");
  const SerialProblem serial = serial_problem(problem);
  CHECK_FALSE(best_at(serial.problem, serial.ii));  // decides every I
  const Cycle last = 2 * serial_ii(problem);
  REQUIRE(last >= 4);
  for (Cycle interval = 1; interval <= last; ++interval) {
    CAPTURE(interval);
    CHECK_FALSE(best_at(problem, interval));
  }
  CHECK(text(verify(problem, {2, 2, {0, 1}, {1, 1}})) ==
        "registers of w1 at cycle 2: v[0..1] 2 x 1 = 2 > 1");
}

TEST_CASE("undercount-figure-1: I = 3, though the straight-line program accepts I = 2") {
  const Problem problem = example("undercount-figure-1");
  check_optimum(problem, 3, 3);
  // S lives [0, 2), P [2, 3), O [3, 5): at I = 2 one of S and one of O always live, and P beside.
  CHECK(text(verify(problem, {2, 4, {0, 2, 3}, {1, 1, 1}})) ==
        "registers of w1 at cycle 4: S[2] 100 + P[1] 60 + O[0] 80 = 240 > 180");
}

TEST_CASE("carried-spill: I = 5, though the straight-line program accepts I = 2") {
  const Problem problem = example("carried-spill");
  check_optimum(problem, 5, 2);
  CHECK(text(verify(problem, {2, 2, {1, 0}, {0, 1}})) ==
        "b[1] on w1 at 2 < a[0] on load at 1 + delay 1 + spill 3 = 5");
}

TEST_CASE("stage-gap: I = 1, L = 5, which needs more stages than the paper's window has") {
  const Problem problem = example("stage-gap");
  check_optimum(problem, 1, 5);
  // LEN = 2 under rules 1 and 2 alone: the window ceil(L / I) = ceil(2 / I) holds no schedule
  // below 5.
  for (Cycle interval = 1; interval < 5; ++interval) {
    const Cycle window = (2 + interval - 1) / interval * interval;
    auto found = brute_force_at(problem, interval, 5);
    REQUIRE(found);
    CHECK(found->length > window);
  }
  CHECK(brute_force_at(problem, 5, 1)->length == 5);
}

TEST_CASE("non-monotone: I = 2, 4, 5 and 6 but not 3") {
  const Problem problem = example("non-monotone");
  CHECK_FALSE(monotone_in_ii(problem));
  for (Cycle interval = 1; interval <= 6; ++interval) {
    CAPTURE(interval);
    CHECK(best_at(problem, interval).has_value() == (interval != 1 && interval != 3));
  }
  CHECK(text(verify(problem, {3, 4, {0}, {0}})) ==
        "capacity of A at cycle 3: a[1] 1 + a[0] 1 = 2 > 1");
}

TEST_CASE("gap: I = 3, L = 4") {
  check_optimum(example("gap"), 3, 4);
}

}  // namespace examples_test
