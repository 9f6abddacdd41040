// A problem's range of initiation intervals: around the smallest I of random loops, both engines
// with certificates; what has no range refuses one.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "engine/certificate/certificate.hpp"
#include "engine/decide.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace interval_range_test {

using namespace twill;
using namespace twill::test;

namespace {

Problem within(Problem problem, Cycle least, Cycle most) {
  problem.interval = {least, most};
  return problem;
}

/// "I, L" of the answer, or "none"; with a certificate that is accepted.
std::string answer(const Problem& problem, const char* engine) {
  Options options;
  options.engine = engine;
  options.evidence = true;
  options.explain = true;
  const Solution solution = solve(problem, options);
  const TemporaryDirectory directory;
  write_certificate(directory / "c", problem, solution);
  const CertificateReport report = check_certificate(directory / "c", {.drat_trim = false});
  CAPTURE(report.refusal);
  CHECK(report.accepted);
  if (!solution.schedule) {
    CHECK(solution.status == Status::infeasible);
    CHECK_FALSE(solution.conflict.empty());
    return "none";
  }
  CHECK(solution.status == Status::optimal);
  CHECK(problem.interval.holds(solution.schedule->initiation_interval));
  return std::to_string(solution.schedule->initiation_interval) + ", " +
         std::to_string(solution.schedule->length);
}

/// The same by one question after the other, each of one I of the problem without a range.
std::string expected(const Problem& open, Cycle least, Cycle most) {
  for (Cycle ii = least; ii <= most; ++ii) {
    Options options;
    options.ii = ii;
    const Solution solution = solve(open, options);
    if (solution.schedule)
      return std::to_string(ii) + ", " + std::to_string(solution.schedule->length);
  }
  return "none";
}

}  // namespace

TEST_CASE("ranges of I around the smallest, both engines, with certificates") {
  int none = 0, first = 0, later = 0, refuted = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.max_ops = 4;
    knobs.max_spill = 2;
    const Problem open = random_loop(seed, knobs);
    const Solution best = solve(open);
    const Cycle ii = best.schedule ? best.schedule->initiation_interval : 3;
    Random random(seed);
    const Cycle least = std::max<Cycle>(1, ii + random.range(-3, 3));
    const Cycle most = least + random.range(0, 3);
    CAPTURE(ii);
    CAPTURE(least);
    CAPTURE(most);
    const std::string right = expected(open, least, most);
    none += right == "none";
    first += least <= ii && ii <= most;
    later += best.schedule && least > ii;
    // Not by the bounds alone.
    refuted +=
        right == "none" && lower_bounds(open).front().value <= most && most < serial_ii(open);
    const Problem problem = within(open, least, most);
    for (const char* engine : {"order", "time_indexed"}) {
      CAPTURE(engine);
      CHECK(answer(problem, engine) == right);
    }
    // One I of its own: as without a range inside, none outside.
    for (const Cycle asked : {least - 1, most, most + 1}) {
      if (asked < 1) continue;
      Options options;
      options.ii = asked;
      const Solution one = solve(problem, options);
      if (!problem.interval.holds(asked))
        CHECK(one.status == Status::infeasible);
      else
        CHECK(one.status == solve(open, options).status);
      CHECK((decide_interval(problem, asked, {}).verdict == Verdict::sat) ==
            one.schedule.has_value());
    }
  }
  CHECK(none > 20);
  CHECK(first > 30);
  CHECK(later > 30);
  CHECK(refuted > 5);
}

TEST_CASE("the judge refuses an I outside of the range; what has no range refuses one") {
  const Problem open =
      read_problem(std::string(TWILL_TEST_DATA) + "/examples/figure-1.problem.json");
  const Schedule schedule = *solve(open).schedule;
  const Cycle ii = schedule.initiation_interval;
  CHECK_FALSE(verify(within(open, ii, ii), schedule));
  const auto low = verify(within(open, ii + 1, kMaxInterval), schedule);
  REQUIRE(low);
  CHECK(low->text == "I = " + std::to_string(ii) + " < " + std::to_string(ii + 1) +
                         ", which the problem asks for");
  CHECK(verify(within(open, 1, ii - 1), schedule));

  const Problem ranged = within(open, ii, ii + 2);
  Options paper, straight, whole;
  paper.stages = "paper";
  straight.encoding = "form=straight-line";
  whole.iterations = 4;
  for (const Options& options : {paper, straight, whole}) {
    CHECK_NOTHROW(solve(open, options));
    CHECK_THROWS_AS(solve(ranged, options), InputError);
  }
  Problem staged = open;
  staged.pins.push_back({Pin::at_stage, 1, -1, -1, -1, 1});
  for (const Options& options : {paper, straight, whole})
    CHECK_THROWS_AS(solve(staged, options), InputError);
}

TEST_CASE("a pin to a stage puts an op off, and says so where it cannot be") {
  Problem problem = read_problem(std::string(TWILL_TEST_DATA) + "/examples/figure-1.problem.json");
  for (const Cycle stage : {Cycle{1}, Cycle{3}}) {
    problem.pins = {{Pin::at_stage, 0, -1, -1, -1, stage}};
    const Solution solution = solve(problem);
    REQUIRE(solution.schedule);
    const Cycle ii = solution.schedule->initiation_interval;
    CHECK(solution.schedule->start[0] / ii == stage);
    CHECK(solution.schedule->length >= stage * ii + 1);
  }
  // Its consumer before it: no interval allows that.
  problem.pins = {{Pin::at_stage, 0, -1, -1, -1, 2}, {Pin::at_stage, 1, -1, -1, -1, 0}};
  const Solution none = solve(problem);
  CHECK(none.status == Status::infeasible);
  REQUIRE(none.conflict.size() == 3);
  const auto says = [&](const std::string& text) {
    return std::ranges::count(none.conflict, text) == 1;
  };
  CHECK(says("S in stage 2"));
  CHECK(says("P in stage 0"));
}

TEST_CASE("a pin to another slot makes a hand-over of its edge, and the bounds count it") {
  Problem p;
  p.warps = {{"w0", 1, 0, false}, {"w1", 1, 0, false}};
  p.ops.resize(2);
  p.ops[0].id = "a";
  p.ops[1].id = "b";
  p.ops[0].cycles = p.ops[1].cycles = 1;
  p.edges = {{0, 1, 1, 0, false, 0, 5}, {1, 0, 1, 1}};
  CHECK(lower_bounds(p).front().value == 2);
  p.pins = {{Pin::other_slot, 1, -1, -1, 0}};
  CHECK(lower_bounds(p).front().value == 7);
  const Solution solution = solve(p);
  REQUIRE(solution.schedule);
  CHECK(solution.schedule->initiation_interval == 7);
  CHECK(solution.stop == Stop::bound);
  CHECK(answer(p, "order") == "7, 7");
}

TEST_CASE("a claim that there is none in a range is not written without a proof") {
  const Problem open =
      read_problem(std::string(TWILL_TEST_DATA) + "/examples/figure-1.problem.json");
  const Cycle ii = solve(open).schedule->initiation_interval, serial = serial_ii(open);
  for (const auto& [least, most] : {std::pair{serial + 5, kMaxInterval},
                                    {serial + 5, serial + 9},
                                    {Cycle{1}, ii},
                                    {ii, ii + 3}}) {
    CAPTURE(least);
    CAPTURE(most);
    const Problem problem = within(open, least, most);
    Options options;
    options.evidence = true;
    Solution claim = solve(problem, options);
    REQUIRE(claim.schedule);
    claim.schedule.reset();
    claim.status = Status::infeasible;
    claim.length_lower_bound = 0;
    const TemporaryDirectory directory;
    CHECK_THROWS_AS(write_certificate(directory / "c", problem, claim), InputError);
  }
}

}  // namespace interval_range_test
