// Why an interval cannot be reached: known clashes, and both engines with the same words.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "engine/include/twill_explain.hpp"
#include "graph/io/builtin.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

namespace explain_test {

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

TEST_CASE("a channel that binds, and a load's latency") {
  using Lines = std::vector<std::string>;
  Problem loop = example("figure-1");
  loop.channels = {{"bus", {1, 2}}, {"wide", {100, 1}}};
  loop.ops[0].traffic = {{0, {2, 1}}, {1, {1, 1}}};
  const IntervalExplanation channel = explain_interval(loop, 3);
  CHECK(channel.verdict() == Verdict::unsat);
  CHECK(channel.texts(false) == Lines{"channel bus: 2 at 1/2 a cycle: at least 4 cycles"});
  REQUIRE(channel.reasons.size() == 1);
  CHECK(channel.reasons[0].kind == Reason::bound);
  CHECK(reaching(channel, Verdict::sat) == Lines{"twice the rate of channel bus"});
  CHECK(reaching(channel, Verdict::unknown).empty());
  CHECK(explain_interval(loop, 4).verdict() == Verdict::sat);
  loop.channels[0].rate = {3, 5};  // with no denominator to halve
  CHECK(reaching(explain_interval(loop, 3), Verdict::sat) ==
        Lines{"twice the rate of channel bus"});
  loop.channels[0].rate = {1, 2};
  // Where twice as much is not enough, and where two channels bind, one change does not help.
  CHECK(reaching(explain_interval(loop, 1), Verdict::sat).empty());
  loop.channels[1].rate = {1, 4};
  CHECK(reaching(explain_interval(loop, 3), Verdict::sat).empty());
  const Lines no = reaching(explain_interval(loop, 3), Verdict::unsat);
  CHECK(std::ranges::count(no, "twice the rate of channel bus") == 1);
  CHECK(std::ranges::count(no, "twice the rate of channel wide") == 1);

  // A ring of two buffers of 5 cycles each: what the load takes to arrive counts in full.
  Problem flight;
  flight.name = "flight";
  flight.memories = {{"smem", 2, true}};
  flight.warps = {{"load", 1, 0, true}, {"w", 1, 0, false}};
  flight.ops.resize(2);
  flight.ops[0].id = "ld";
  flight.ops[0].variable_latency = flight.ops[0].in_flight = true;
  flight.ops[0].footprints = {{0, 1}};
  flight.ops[1].id = "mma";
  flight.ops[1].cycles = 1;
  flight.edges = {{0, 1, 9, 0, true, 0}};
  const Solution best = solve(flight);
  REQUIRE(best.schedule);
  CHECK(best.schedule->initiation_interval == 6);  // 9 + 1 cycles are less than 2 I
  CHECK(best.ring_depths.at("ld") == 2);
  const IntervalExplanation late = explain_interval(flight, 5);
  CHECK(late.verdict() == Verdict::unsat);
  const Lines helps = reaching(late, Verdict::sat);
  CHECK(std::ranges::count(helps, "half the latency of load ld") == 1);
  CHECK(std::ranges::count(helps, "twice the memory smem") == 1);
  // No remedy is offered for "no schedule at any interval" that cannot be one.
  flight.memories[0].capacity = 0;
  flight.channels = loop.channels;
  flight.ops[0].traffic = {{0, {1000, 1}}};
  const IntervalExplanation none = explain_interval(flight, 0);
  CHECK(none.verdict() == Verdict::unsat);
  for (const Relaxation& r : none.relaxations) {
    CHECK(r.text.find("channel") == std::string::npos);
    CHECK(r.text.find("latency") == std::string::npos);
  }
  for (const std::string& text : none.texts(false)) CHECK(text.find("bus") == std::string::npos);
}

TEST_CASE("iterations in turns are offered where they reach the interval") {
  LowerOptions options;
  options.layout = "softmax-correction";
  const Lowered loop = lower(builtin_kernel("blackwell-fwd-plain"), "kernel",
                             builtin_machine("blackwell"), "machine", options)
                           .front();
  const std::string turns = "two iterations in one (--unroll 2)";
  CHECK(std::ranges::count(reaching(explain_interval(loop.problem, 1'727), Verdict::sat), turns) ==
        1);
  // Not below what two of them take, not of a loop that is pinned to cycles, not at any interval.
  const auto offered = [&](const IntervalExplanation& e) {
    return std::ranges::count(e.relaxations, turns, &Relaxation::text);
  };
  const IntervalExplanation below = explain_interval(loop.problem, 1'279);
  CHECK(std::ranges::count(reaching(below, Verdict::unsat), turns) == 1);
  Problem pinned = loop.problem;
  pinned.pins.push_back({Pin::at_cycle, 0, -1, 0, -1, -1});
  CHECK(offered(explain_interval(pinned, 1'000)) == 0);
}

TEST_CASE("random loops: both engines say the same, and it is true") {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  int explained = 0, helped = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    knobs.max_channels = seed % 4 == 0 ? 1 : 0;
    knobs.flight = seed % 2 == 0;
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

}  // namespace explain_test
