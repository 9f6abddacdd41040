// Why an interval cannot be reached: known clashes, and both engines with the same words.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "engine/explain/explain_interval.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

using namespace twill;
using namespace twill::test;

namespace {

Problem example(const std::string& name) {
  return read_problem(std::string(TWILL_TEST_DATA) + "/examples/" + name + ".problem.json");
}

std::vector<std::string> reaching(const IntervalExplanation& e, Verdict verdict) {
  std::vector<std::string> texts;
  for (const Relaxation& r : e.relaxations)
    if (r.tried.verdict == verdict) texts.push_back(r.text);
  return texts;
}

}  // namespace

TEST_CASE("the examples") {
  using Lines = std::vector<std::string>;
  const IntervalExplanation registers = explain_interval(example("undercount-figure-1"), 2);
  CHECK(registers.verdict() == Verdict::unsat);
  CHECK(registers.minimal);
  CHECK(registers.texts(false) ==
        Lines{"unit TC (1) at residue 0: S + O; it has S 1, O 1 = 2 cycles",
              "registers of w1 at residue 0: S 100 + P 60 + O 80 = 240 > 180"});
  CHECK(registers.texts(true) == Lines{"S -1-> P -1-> O"});
  // The same as data: the kind of each constraint, and the ops that it is about.
  REQUIRE(registers.reasons.size() == 3);
  CHECK(registers.reasons[0].kind == Reason::unit);
  CHECK(registers.reasons[0].index == 0);
  CHECK(registers.reasons[0].ops == std::vector<int>{0, 2});
  CHECK(registers.reasons[1].kind == Reason::registers);
  CHECK(registers.reasons[1].ops == std::vector<int>{0, 1, 2});
  CHECK(registers.reasons[2].kind == Reason::dependence);
  CHECK(registers.reasons[2].ops == std::vector<int>{0, 1, 2});
  CHECK(conflict_text(registers.reasons[2]) == "forced by S -1-> P -1-> O");
  CHECK(reaching(registers, Verdict::sat) ==
        Lines{"one more slot like w1", "one more instance of TC"});
  CHECK(reaching(registers, Verdict::unknown).empty());
  CHECK(explain_interval(example("figure-1"), 1).texts(false) ==
        Lines{"units TC: 2 x 1 = 2 cycles on 1 instance"});
  const IntervalExplanation fine = explain_interval(example("figure-1"), 2);
  CHECK(fine.verdict() == Verdict::sat);
  CHECK(fine.texts(false).empty());

  Problem loop = example("figure-1");
  loop.edges.push_back({0, 0, 7, 1, false, 0});
  const IntervalExplanation recurrence = explain_interval(loop, 6);
  REQUIRE(recurrence.texts(false).size() == 1);
  CHECK(recurrence.texts(false)[0].starts_with("recurrence "));
  CHECK(reaching(recurrence, Verdict::sat).empty());
}

TEST_CASE("random loops: both engines say the same, and it is true") {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  int explained = 0, helped = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, knobs);
    const Solution best = solve(problem);
    if (!best.schedule || best.schedule->initiation_interval < 2) continue;
    const Cycle ii = best.schedule->initiation_interval - 1;
    Options options;
    options.engine = "order";
    const IntervalExplanation order = explain_interval(problem, ii, options);
    options.engine = "time_indexed";
    const IntervalExplanation cnf = explain_interval(problem, ii, options);
    CHECK(order.verdict() == Verdict::unsat);
    CHECK(order.minimal);
    CHECK_FALSE(order.texts(false).empty());
    CHECK(order.texts(false) == cnf.texts(false));
    CHECK(order.texts(true) == cnf.texts(true));
    CHECK(reaching(order, Verdict::sat) == reaching(cnf, Verdict::sat));
    CHECK(reaching(order, Verdict::unsat) == reaching(cnf, Verdict::unsat));
    CHECK(reaching(order, Verdict::unknown).empty());
    ++explained;
    helped += reaching(order, Verdict::sat).empty() ? 0 : 1;
    // One relaxation by hand: 16 more registers on the first slot, against all schedules.
    Problem more = problem;
    more.warps[0].registers += 16;
    const std::string text = "16 more registers on " + problem.warps[0].name;
    for (const Relaxation& r : order.relaxations)
      if (r.text == text && problem.ops.size() <= 3)
        CHECK((r.tried.verdict == Verdict::sat) == brute_force_at(more, ii, 3).has_value());
  }
  CHECK(explained > 50);
  CHECK(helped > 10);
}

TEST_CASE("limits and pins") {
  std::stop_source stop;
  stop.request_stop();
  const IntervalExplanation stopped =
      explain_interval(example("undercount-figure-1"), 2, {}, stop.get_token());
  CHECK(stopped.verdict() == Verdict::unknown);
  CHECK(stopped.texts(false).empty());
  Options pinned;
  pinned.pins = {{"nobody", "w1"}};
  CHECK_THROWS_AS(explain_interval(example("undercount-figure-1"), 2, pinned), InputError);
  pinned.pins.clear();
  pinned.stages = "paper";
  CHECK_THROWS_AS(explain_interval(example("undercount-figure-1"), 2, pinned), InputError);
}
