// Pins: both engines and their certificates against every schedule of tiny loops, the judges, the
// claims behind the search, files.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/claims.hpp"
#include "engine/decide.hpp"
#include "engine/include/twill.hpp"
#include "engine/include/twill_explain.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/io/file.hpp"
#include "tests/support/agreement.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace pins_test {

using namespace twill;
using namespace twill::test;

namespace {

Problem figure_1() {
  return read_problem(std::string(TWILL_TEST_DATA) + "/examples/figure-1.problem.json");
}

/// One to three pins of any kind that check() accepts, cycles below `cycles`.
void pin_at_random(Problem& p, Random& random, Cycle cycles) {
  const auto any_op = [&] {
    return static_cast<int>(random.range(0, static_cast<Cycle>(p.ops.size()) - 1));
  };
  const auto any_slot = [&] {
    return static_cast<int>(random.range(0, static_cast<Cycle>(p.warps.size()) - 1));
  };
  for (int left = static_cast<int>(random.range(1, 3)); left > 0; --left) {
    Pin pin;
    pin.op = any_op();
    switch (random.range(0, 6)) {
      case 0: pin.slot = any_slot(); break;
      case 1:
        pin.kind = Pin::not_on_slot;
        pin.slot = any_slot();
        break;
      case 2:
        pin.kind = Pin::same_slot;
        pin.other = any_op();
        break;
      case 3:
        pin.kind = Pin::other_slot;
        pin.other = any_op();
        break;
      case 4:
        pin.kind = Pin::at_stage;
        pin.stage = random.range(0, 2);
        break;
      default:
        pin.kind = Pin::at_cycle;
        pin.cycle = random.range(0, cycles - 1);
        break;
    }
    p.pins.push_back(pin);
    try {
      check(p);
    } catch (const InputError&) {
      p.pins.pop_back();
    }
  }
}

LoopKnobs tiny() {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  knobs.max_cycles = 2;
  knobs.max_spill = 2;
  knobs.max_hold = 1;
  return knobs;
}

/// Where the search up to which every I is tried below ends: the solver's own answer, or beyond the
/// pinned cycles where it says that there is none.
Cycle last_tried(const Problem& problem) {
  const Solution solution = solve(problem);
  if (solution.schedule) return solution.schedule->initiation_interval;
  return std::min(serial_ii(problem), latest_pinned_cycle(problem) + 3);
}

bool small_enough(const Problem& problem) {
  double space = 1;
  const Cycle last = last_tried(problem);
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    space *= static_cast<double>(last * stage_bound(problem, last)) *
             static_cast<double>(problem.warps.size());
  return space < 1e6;
}

/// The best schedule up to that I, by trying all.
std::optional<Schedule> up_to_answer(const Problem& problem) {
  const Cycle last = last_tried(problem);
  for (Cycle ii = 1; ii <= last; ++ii)
    if (auto schedule = exhaustive_at(problem, ii, 0)) return schedule;
  return std::nullopt;
}

std::string refusal(const Problem& problem) {
  try {
    check(problem, "p");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string refusal(const std::string& text) {
  try {
    parse_problem(text, "p");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("pinned loops against every schedule, both engines, with certificates") {
  int kinds[6] = {}, none = 0, found = 0, at_cycles = 0, proofs = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Problem problem = random_loop(seed, tiny());
    Random random(seed);
    pin_at_random(problem, random, 5);
    if (problem.pins.empty()) continue;
    CAPTURE(seed);
    const std::string text = problem_text(problem);
    CAPTURE(text);
    for (const Pin& pin : problem.pins) ++kinds[pin.kind];
    if (!small_enough(problem)) continue;
    const auto expected = up_to_answer(problem);
    ++(expected ? found : none);
    at_cycles += expected && latest_pinned_cycle(problem) > 0;
    for (const char* engine : {"order", "time_indexed"}) {
      CAPTURE(engine);
      Options options;
      options.engine = engine;
      REQUIRE(disagreement(problem, options, expected) == "");
      options.evidence = true;
      const Solution solution = solve(problem, options);
      const TemporaryDirectory directory;
      write_certificate(directory / "c", problem, solution);
      const CertificateReport report = check_certificate(directory / "c");
      CHECK(report.refusal == "");
      for (const std::string& line : report.proved)
        proofs += line.find("refutation ") != std::string::npos ? 1 : 0;
    }
  }
  CHECK(*std::min_element(kinds, kinds + 6) > 40);
  CHECK(none > 15);
  CHECK(found > 100);
  CHECK(at_cycles > 50);
  CHECK(proofs > 50);
}

TEST_CASE("a limit on the stages, one interval and encodings know pins too") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Problem problem = random_loop(seed, tiny());
    Random random(seed + 1000);
    pin_at_random(problem, random, 4);
    CAPTURE(seed);
    Options options;
    options.stages = "2";
    options.ii = 2;
    CHECK(disagreement(problem, options) == "");
    options.stages = "complete";
    if (!small_enough(problem)) continue;
    options.ii = 3;
    CHECK(disagreement(problem, options) == "");
    options.engine = "time_indexed";
    options.encoding = std::string("start=") + (seed % 4 == 0   ? "order"
                                                : seed % 4 == 1 ? "direct"
                                                : seed % 4 == 2 ? "channelled"
                                                                : "binary");
    CHECK(disagreement(problem, options) == "");
  }
}

TEST_CASE("the two judges agree on pinned schedules") {
  int broken = 0, kept = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Problem problem = random_loop(seed, tiny());
    Random random(seed);
    const Schedule schedule = random_schedule(problem, random, 5);
    pin_at_random(problem, random, 4);
    // Half of the pins say what is so.
    for (Pin& pin : problem.pins)
      if (pin.kind == Pin::at_cycle && random.percent(50))
        pin.cycle = schedule.start[static_cast<std::size_t>(pin.op)];
    CAPTURE(seed);
    const auto violation = verify(problem, schedule);
    const auto rule = broken_rule(problem, schedule);
    REQUIRE(violation.has_value() == rule.has_value());
    if (violation) CHECK(violation->rule == *rule);
    broken += rule == "pin";
    kept += !rule && !problem.pins.empty();
  }
  CHECK(broken > 300);
  CHECK(kept > 200);
}

TEST_CASE("above the latest pinned cycle feasibility is monotone, and decided at serial_ii") {
  int feasible = 0, infeasible = 0, monotone = 0;
  for (std::uint64_t seed = 1; seed <= 160; ++seed) {
    Problem problem = random_loop(seed, tiny());
    Random random(seed + 7);
    pin_at_random(problem, random, 5);
    const Cycle latest = latest_pinned_cycle(problem);
    if (latest <= 0) continue;
    CAPTURE(seed);
    const Cycle decisive = serial_ii(problem);
    const auto some = [&](Cycle ii) {
      return decide_interval(problem, ii, {}).verdict == Verdict::sat;
    };
    const bool at_last = some(decisive);
    ++(at_last ? feasible : infeasible);
    bool before = false;
    for (Cycle ii = latest + 1; ii <= decisive + 2; ++ii) {
      const bool now = some(ii);
      if (now) CHECK(at_last);
      if (ii >= decisive) CHECK(now == at_last);
      if (single_segments(problem) && before) CHECK(now);
      monotone += now && !before;
      before = now;
    }
  }
  CHECK(feasible > 30);
  CHECK(infeasible > 5);
  CHECK(monotone > 30);
}

TEST_CASE("refutations that rotate the schedule prove nothing where a cycle is pinned") {
  // I = 2 is refuted by registers, and by no bound.
  Problem problem =
      read_problem(std::string(TWILL_TEST_DATA) + "/examples/undercount-figure-1.problem.json");
  Options options;
  options.evidence = true;
  options.ii = 2;
  const Solution solution = solve(problem, options);
  REQUIRE(solution.status == Status::infeasible);
  const auto& refutations = solution.evidence->refutations();
  REQUIRE(refutations.size() == 1);
  const std::vector<std::string> names = {"a"};
  CHECK(claims_of(problem, solution, refutations, names).unproved == "");
  problem.pins.push_back({Pin::at_cycle, 0, -1, 0, -1});
  CHECK(claims_of(problem, solution, refutations, names).unproved == "no schedule has I = 2");
}

TEST_CASE("pins that clash are named") {
  Problem problem = figure_1();
  problem.pins = {
      {Pin::at_cycle, 0, -1, 4, -1}, {Pin::at_cycle, 1, -1, 3, -1}, {Pin::at_cycle, 2, -1, 9, -1}};
  for (const char* engine : {"order", "time_indexed"}) {
    Options options;
    options.engine = engine;
    const Solution solution = solve(problem, options);
    CHECK(solution.status == Status::infeasible);
    CHECK(solution.conflict == std::vector<std::string>{"S at cycle 4", "P at cycle 3"});
  }
  problem.pins = {{Pin::on_slot, 0, 0, -1, -1},
                  {Pin::not_on_slot, 1, 0, -1, -1},
                  {Pin::same_slot, 0, -1, -1, 1}};
  problem.warps.push_back({"w1", 1, 0, false});
  const Solution solution = solve(problem);
  CHECK(solution.status == Status::infeasible);
  const auto named = [&](const char* text) {
    return std::count(solution.conflict.begin(), solution.conflict.end(), text) == 1;
  };
  CHECK(named("S on the slot of P"));
  // A clash at one interval: without the pins I = 2 is reached.
  problem = figure_1();
  problem.pins = {{Pin::at_cycle, 0, -1, 0, -1}, {Pin::at_cycle, 2, -1, 4, -1}};
  const IntervalExplanation e = explain_interval(problem, 2);
  CHECK(e.verdict() == Verdict::unsat);
  CHECK(e.texts(false) ==
        std::vector<std::string>{"S at cycle 0", "O at cycle 4",
                                 "unit TC (1) at residue 0: S + O; it has S 1, O 1 = 2 cycles"});
}

TEST_CASE("files with pins") {
  Problem problem = figure_1();
  CHECK(problem_text(problem).find("\"version\": 1") != std::string::npos);
  problem.pins = {{Pin::on_slot, 0, 0, -1, -1},
                  {Pin::not_on_slot, 1, 1, -1, -1},
                  {Pin::at_cycle, 2, -1, 7, -1},
                  {Pin::same_slot, 0, -1, -1, 2}};
  problem.warps.push_back({"w1", 1, 0, false});
  const std::string text = problem_text(problem);
  CHECK(text.find("\"version\": 2") != std::string::npos);
  CHECK(parse_problem(text) == problem);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    return refusal(changed.replace(at, from.size(), to));
  };
  CHECK(with("\"version\": 2", "\"version\": 1") ==
        "p: /pins: found an array of 4 values: unknown key; known here: format, version, name, "
        "units, "
        "memories, warps, ops, edges, cycle_unit");
  CHECK(with("\"version\": 2", "\"version\": 6").find("reads version 1 to 5") != std::string::npos);
  CHECK(with("\"not_warp\": \"w1\"", "\"not_warp\": \"w9\"") ==
        "p: /pins/1/not_warp: found \"w9\": must be the name of a warp slot");
  CHECK(with("\"cycle\": 7", "\"cycle\": -1").find("/pins/2/cycle: found -1") != std::string::npos);
  CHECK(with("\"cycle\": 7", "\"cycle\": 7, \"warp\": \"w1\"")
            .find("must have one of warp, not_warp, cycle and same_warp_as") != std::string::npos);
  CHECK(with("\"same_warp_as\": \"O\"", "\"same_warp_as\": \"X\"")
            .find("/pins/3/same_warp_as: found \"X\"") != std::string::npos);

  problem.ops[0].width = 2;
  for (WarpSlot& slot : problem.warps) slot.width = 2;
  problem.warps[0].width = 1;
  CHECK(refusal(problem).find("/pins/0/warp") != std::string::npos);
  problem = figure_1();
  problem.pins = {{Pin::at_cycle, 1, -1, 7, -1}, {Pin::at_cycle, 1, -1, 7, -1}};
  CHECK(refusal(problem).find("/pins/1/op: found \"P\": an op may be pinned to one cycle") !=
        std::string::npos);
  problem.pins = {{Pin::at_cycle, 3, -1, 7, -1}};
  CHECK(refusal(problem).find("/pins/0/op: found 3") != std::string::npos);
}

TEST_CASE("what knows no pins refuses them") {
  Problem problem = figure_1();
  problem.pins = {{Pin::at_cycle, 1, -1, 1, -1}};
  Options options;
  options.stages = "paper";
  CHECK_THROWS_AS(solve(problem, options), InputError);
  options.stages = "complete";
  options.encoding = "form=straight-line";
  CHECK_THROWS_AS(solve(problem, options), InputError);
  CHECK_THROWS_AS(normalize_problem(problem, 10, false), InputError);
  CHECK_FALSE(covers(problem, figure_1()));
  CHECK_FALSE(covers(figure_1(), problem));
}

TEST_CASE("pins of the options are pins of the problem at once") {
  Problem problem = figure_1();
  problem.warps.push_back({"w1", 1, 0, false});
  Problem pinned = problem;
  pinned.pins = {{Pin::on_slot, 1, 1, -1, -1}};
  Options options;
  options.evidence = true;
  options.goals = {"canonical"};
  const Solution own = solve(pinned, options);
  REQUIRE(own.status == Status::optimal);
  Options old = options;
  old.pins = {{"P", "w1"}};
  const auto same = [&](const Problem& given) {
    const Solution solution = solve(given, old);
    CHECK(solution.schedule == own.schedule);
    CHECK(solution.problem_sha256 == own.problem_sha256);
    CHECK(solution.options == own.options);
    const TemporaryDirectory folder;
    write_certificate(folder / "c", given, solution);
    const CertificateReport report = check_certificate(folder / "c");
    CHECK(report.refusal == "");
    CHECK(report.restriction == "");
    CHECK(read_file(folder / "c/problem.json") == problem_text(pinned));
  };
  same(problem);
  same(pinned);  // told twice
  Solution later = solve(pinned, [&] {
    Options without = options;
    without.goals.clear();
    return without;
  }());
  pursue_goals(problem, old, later);
  CHECK(later.schedule == own.schedule);
  CHECK(explain_interval(problem, own.schedule->initiation_interval - 1, old).texts(true) ==
        explain_interval(pinned, own.schedule->initiation_interval - 1, options).texts(true));
  // Not to two slots, nor to what there is not.
  old.pins = {{"P", "w0"}};
  CHECK_THROWS_AS(solve(pinned, old), InputError);
  old.pins = {{"P", "nowhere"}};
  CHECK_THROWS_AS(solve(problem, old), InputError);
  // None where they leave none.
  for (int v = 0; v < 3; ++v) problem.ops[static_cast<std::size_t>(v)].registers = 2;
  problem.warps[1].registers = 1;
  old.pins = {{"P", "w1"}};
  old.evidence = false;
  CHECK(solve(problem, old).status == Status::infeasible);
  CHECK_FALSE(why_infeasible(problem, old).empty());
}

}  // namespace pins_test
