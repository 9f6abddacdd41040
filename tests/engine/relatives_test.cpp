// Both engines, their certificates and the judge against an enumeration that was written from the
// model alone, over the first of the wild loops; tests/relatives/relatives.cpp runs them by the
// million. And what they found, case by case.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "engine/certificate/certificate.hpp"
#include "engine/decide.hpp"
#include "graph/bounds/serial.hpp"
#include "tests/support/relatives.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_directory.hpp"

namespace relatives_test {

using namespace twill;
using namespace twill::test;

namespace {

Problem regressed(const std::string& name) {
  const std::filesystem::path data = TWILL_TEST_DATA;
  return read_problem((data.parent_path() / "regress" / (name + ".problem.json")).string());
}

Options of(const std::string& engine) {
  Options options;
  options.engine = engine;
  options.threads = 1;
  return options;
}

std::string rule_against(const Problem& problem, const Options& options) {
  try {
    solve(problem, options);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("wild loops") {
  const TemporaryDirectory folder;
  JudgeSettings settings;
  settings.folder = folder / ".";
  Tally tally;
  for (std::uint64_t seed = 0; seed < 500 / kShare; ++seed) {
    CAPTURE(seed);
    const WildCase wild = wild_case(seed);
    const std::string wrong = fault(wild, settings, tally);
    if (wrong.empty()) continue;
    const WildCase small = smaller(wild, settings);
    FAIL_CHECK(wrong << "\n" << options_text(small) << "\n" << problem_text(small.problem));
  }
  CHECK(tally["found"] > 200 / kShare);
  CHECK(tally["none"] > 100 / kShare);
  CHECK(tally["unfinished"] < 10);
  CHECK(tally["certificates"] > 1000 / kShare);
  CHECK(tally["goals"] > 200 / kShare);
  CHECK(tally["judged bad"] > 200 / kShare);
  CHECK(tally["judged good"] > 200 / kShare);
}

TEST_CASE("the enumeration knows the examples of the model") {
  const std::filesystem::path data = TWILL_TEST_DATA;
  const auto best = [&](const std::string& name, Cycle stages) {
    const Problem problem = read_problem((data / "examples" / (name + ".problem.json")).string());
    TruthAsked question;
    question.stages = stages;
    const Truth truth = every_schedule(problem, question, 10'000'000);
    REQUIRE(truth.finished);
    return truth.best ? truth.best->initiation_interval : 0;
  };
  CHECK(best("figure-1", 0) == 2);
  CHECK(best("undercount", 0) == 0);
  CHECK(best("undercount-figure-1", 0) == 3);
  CHECK(best("carried-spill", 0) == 5);
  CHECK(best("stage-gap", 0) == 1);
  CHECK(best("stage-gap", 1) == 5);
  CHECK(best("non-monotone", 0) == 2);
  const Problem problem = read_problem((data / "examples" / "non-monotone.problem.json").string());
  for (const Cycle ii : {1, 2, 3, 4, 5, 6}) {
    TruthAsked question;
    question.ii = ii;
    CHECK(every_schedule(problem, question, 1'000'000).best.has_value() == (ii != 1 && ii != 3));
  }
}

TEST_CASE("better_than: the best is not better than itself") {
  const Problem problem = regressed("better-than");
  for (const char* engine : {"order", "time_indexed"})
    for (const char* stages : {"complete", "2", "1"}) {
      Options options = of(engine);
      options.stages = stages;
      const Solution best = solve(problem, options);
      REQUIRE(best.status == Status::optimal);
      const Cycle ii = best.schedule->initiation_interval, length = best.schedule->length;
      for (const auto& than : {std::pair{ii, length}, {ii, length - 1}, {ii, Cycle{0}}}) {
        options.better_than = than;
        const Solution none = solve(problem, options);
        CHECK(none.status == Status::infeasible);
        CHECK_FALSE(none.schedule);
        CHECK_FALSE(none.conflict.empty());
      }
      for (const auto& than : {std::pair{ii, length + 1}, {ii + 1, Cycle{0}}, {ii + 5, length}}) {
        options.better_than = than;
        const Solution same = solve(problem, options);
        CHECK(same.status == Status::optimal);
        REQUIRE(same.schedule);
        CHECK(same.schedule->initiation_interval == ii);
        CHECK(same.schedule->length == length);
        CHECK(same.max_stages >= stage_count(*same.schedule));
      }
    }
}

TEST_CASE("better_than: what a limit ends at is only returned if it is better") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const WildCase wild = wild_case(seed);
    Options options = of(seed % 2 == 0 ? "order" : "time_indexed");
    const Solution best = solve(wild.problem, options);
    if (!best.schedule) continue;
    options.conflict_limit = 1;
    options.better_than = {best.schedule->initiation_interval, best.schedule->length};
    const Solution none = solve(wild.problem, options);
    CHECK_FALSE(none.schedule);
    CHECK((none.status == Status::infeasible || none.status == Status::unknown));
    // A stop from the start: nothing was searched, so nothing is proved but by arithmetic.
    std::stop_source stop;
    stop.request_stop();
    options.conflict_limit = 0;
    CHECK_FALSE(solve(wild.problem, options, stop.get_token()).schedule);
  }
}

// Lengths far beyond what can be needed gave a formula of so many stages that check() refuses it.
TEST_CASE("better_than: a certificate of what is found") {
  Problem problem;
  problem.name = "far";
  problem.warps = {{"w", 1, 0, false}};
  Op op;
  op.id = "a";
  problem.ops.push_back(op);
  op.id = "b";
  problem.ops.push_back(op);
  problem.pins.push_back({Pin::at_cycle, 0, -1, 4, -1});
  problem.ops[1].variable_latency = problem.ops[1].streaming = true;
  const TemporaryDirectory folder;
  for (const char* engine : {"order", "time_indexed"}) {
    Options options = of(engine);
    options.evidence = true;
    options.better_than = {1, 54};
    const Solution found = solve(problem, options);
    REQUIRE(found.schedule);
    CHECK(found.schedule->length == 4);
    write_certificate(folder / engine, problem, found);
    CHECK(check_certificate(folder / engine).accepted);
  }
}

// The same for a first schedule, which the orders at a pinned op made five stages long.
TEST_CASE("a first schedule far longer than the shortest has a certificate") {
  const Problem problem = regressed("long-first");
  const TemporaryDirectory folder;
  for (const char* engine : {"order", "time_indexed"}) {
    Options options = of(engine);
    options.evidence = true;
    write_certificate(folder / engine, problem, solve(problem, options));
    CHECK(check_certificate(folder / engine).accepted);
  }
}

TEST_CASE("the straight-line program refuses what it would ignore") {
  const std::filesystem::path data = TWILL_TEST_DATA;
  const Problem problem = read_problem((data / "examples" / "figure-1.problem.json").string());
  for (const char* form : {"form=straight-line", "form=straight-line-literal"})
    for (const char* stages : {"complete", "2", "paper"}) {
      Options options = of("auto");
      options.encoding = form;
      options.stages = stages;
      CHECK(rule_against(problem, options) == "accepted");
      Options other = options;
      other.handover = false;
      CHECK(rule_against(problem, other).find("--no-handover") != std::string::npos);
      other = options;
      other.pins = {{"S", problem.warps[0].name}};
      CHECK(rule_against(problem, other).find("/pins") != std::string::npos);
      other = options;
      other.better_than = {3, 3};
      CHECK(rule_against(problem, other).find("better_than") != std::string::npos);
    }
}

TEST_CASE("the ring of a load does not depend on the order of the file's edges") {
  Problem problem = regressed("view-by-two-ways");
  for (int order = 0; order < 2; ++order) {
    for (const char* engine : {"order", "time_indexed"})
      CHECK(solve(problem, of(engine)).status == Status::infeasible);
    std::reverse(problem.edges.begin(), problem.edges.end());
  }
  problem.memories[0].capacity = 6;
  const Solution found = solve(problem);
  REQUIRE(found.schedule);
  CHECK(found.ring_depths.at("a") == 3);
  CHECK_FALSE(verify(problem, *found.schedule));
}

// An op without cycles may start later than it needs to: "up to 1 stage searched" was said of two.
TEST_CASE("no schedule has more stages than were searched") {
  Problem problem;
  problem.name = "late";
  problem.units = {{"u", 1}};
  problem.warps = {{"w", 1, 0, false}, {"x", 1, 0, false}};
  Op op;
  op.id = "a";
  problem.ops.push_back(op);
  op.cycles = 2;
  for (const Cycle length : {1, 2}) {
    op.id = "op" + std::to_string(length);
    op.reservations = {{0, 0, length, 1}};
    problem.ops.push_back(op);
  }
  for (const char* engine : {"order", "time_indexed"})
    for (const char* goals : {"", "canonical"}) {
      Options options = of(engine);
      if (*goals != '\0') options.goals = {goals};
      const Solution found = solve(problem, options);
      REQUIRE(found.schedule);
      CHECK(found.max_stages >= stage_count(*found.schedule));
    }
}

TEST_CASE("a formula has the stages that its intervals need, and a certificate") {
  const TemporaryDirectory folder;
  for (const char* name : {"three-stages", "no-slot-three-stages"}) {
    const Problem problem = regressed(name);
    for (const char* engine : {"order", "time_indexed"})
      for (const char* stages : {"complete", "3", "4"}) {
        Options options = of(engine);
        options.stages = stages;
        options.evidence = true;
        const std::string path = folder / (std::string(name) + engine + stages);
        write_certificate(path, problem, solve(problem, options));
        CHECK(check_certificate(path).accepted);
      }
  }
}

TEST_CASE("a goal that a limit leaves open has the value of the schedule that is returned") {
  const Problem problem = regressed("open-lifetime");
  for (const char* engine : {"order", "time_indexed"})
    for (const std::int64_t limit : {1, 2, 3, 0}) {
      Options options = of(engine);
      options.goals = {"lifetime", "slot:c", "start:a"};
      options.conflict_limit = limit;
      const Solution found = solve(problem, options);
      REQUIRE(found.schedule);
      for (const Goal& goal : found.goals) {
        CHECK(goal.value == measured(problem, *found.schedule, goal.name));
        CHECK(goal.lower_bound <= goal.value);
      }
    }
}

// No formula has rule 9: the paper's window and the straight-line program had models at an interval
// that a channel does not allow, which the judge refuses.
TEST_CASE("an interval below a channel's bound") {
  const std::filesystem::path data = TWILL_TEST_DATA;
  Problem problem = read_problem((data / "examples" / "figure-1.problem.json").string());
  problem.channels = {{"bus", {1, 2}}};
  problem.ops[0].traffic = {{0, {7, 3}}};  // 14/3 cycles
  for (const char* form : {"form=modulo", "form=straight-line", "form=straight-line-literal"})
    for (const char* stages : {"complete", "2", "paper"})
      for (const char* engine : {"order", "time_indexed"}) {
        const bool modulo = std::string(form) == "form=modulo";
        if (!modulo && std::string(engine) == "order") continue;
        CAPTURE(form);
        CAPTURE(stages);
        Options options = of(engine);
        options.encoding = form;
        options.stages = stages;
        const Solution best = solve(problem, options);
        REQUIRE(best.schedule);
        CHECK(best.schedule->initiation_interval == 5);
        CHECK_FALSE(verify(problem, *best.schedule));
        for (const Cycle ii : {1, 2, 3, 4}) {
          options.ii = ii;
          const Solution none = solve(problem, options);
          CHECK(none.status == Status::infeasible);
          CHECK(none.ii_lower_bound == 5);
          REQUIRE(none.conflict.size() == 1);
          CHECK(none.conflict[0].find("by the channel bound: bus: 7/3 at 1/2 a cycle") !=
                std::string::npos);
        }
        options.ii = 5;
        CHECK(solve(problem, options).schedule);
        // Of one interval and length, and of an interval alone.
        const Cycle length = best.schedule->length;
        for (const Cycle ii : {4, 5}) {
          const Verdict expected = ii == 5 ? Verdict::sat : Verdict::unsat;
          options.ii.reset();
          options.stages = "complete";
          CHECK(decide(problem, ii, length, options).verdict == expected);
          if (modulo) CHECK(decide_interval(problem, ii, options).verdict == expected);
        }
      }
}

// A channel's bound says nothing of larger intervals: it must never make "none".
TEST_CASE("a channel whose bound is beyond where the ops can run one after the other") {
  const std::filesystem::path data = TWILL_TEST_DATA;
  const TemporaryDirectory folder;
  for (const char* name : {"figure-1", "undercount", "non-monotone"}) {
    Problem problem =
        read_problem((data / "examples" / (std::string(name) + ".problem.json")).string());
    const bool none = std::string(name) == "undercount";
    problem.channels = {{"bus", {1, 1}}};
    problem.ops[0].traffic = {{0, {1000, 1}}};
    REQUIRE(serial_ii(problem) < 1000);
    for (const char* engine : {"order", "time_indexed"})
      for (const char* stages : {"complete", "3"}) {
        CAPTURE(name);
        CAPTURE(engine);
        Options options = of(engine);
        options.stages = stages;
        options.evidence = true;
        options.explain = true;
        const Solution found = solve(problem, options);
        CHECK(found.status == (none ? Status::infeasible : Status::optimal));
        if (found.schedule) CHECK(found.schedule->initiation_interval == 1000);
        for (const std::string& reason : found.conflict)
          CHECK(reason.find("bus") == std::string::npos);
        const std::string path = folder / (std::string(name) + engine + stages);
        write_certificate(path, problem, found);
        const CertificateReport report = check_certificate(path);
        CHECK_MESSAGE(report.accepted, report.refusal);
      }
  }
}

}  // namespace relatives_test
