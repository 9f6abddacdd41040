// The straight-line program, as printed and corrected: the examples that tell them apart,
// exhaustive search on random tiny loops, and other solvers on the SMT-LIB text.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/smtlib.hpp"
#include "encoders/straight_line/straight_line.hpp"
#include "engine/budget.hpp"
#include "engine/cadical.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/io/file.hpp"
#include "graph/problem_io.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace straight_line_test {

using namespace twill;
using namespace twill::test;

namespace {

Problem example(const std::string& name) {
  return read_problem(TWILL_TEST_DATA "/examples/" + name + ".problem.json");
}

Solution run(const Problem& problem, const std::string& form, const std::string& stages,
             std::optional<Cycle> ii = std::nullopt) {
  Options options;
  options.encoding = "form=" + form;
  options.stages = stages;
  options.ii = ii;
  Solution solution = solve(problem, options);
  if (solution.schedule) CHECK_FALSE(verify(problem, *solution.schedule));
  return solution;
}

void check_optimal(const Solution& solution, Cycle ii, Cycle length) {
  CHECK(to_string(solution.status) == std::string("optimal"));
  REQUIRE(solution.schedule);
  CHECK(solution.schedule->initiation_interval == ii);
  CHECK(solution.schedule->length == length);
  CHECK(solution.ii_lower_bound == ii);
  CHECK(solution.length_lower_bound == length);
}

// The printed formula has a model at this I that is no schedule; `rule` occurs in the reason.
void check_refused(const Solution& solution, Cycle ii, const std::string& rule) {
  CHECK(to_string(solution.status) == std::string("unknown"));
  CHECK_FALSE(solution.schedule);
  REQUIRE(solution.conflict.size() == 1);
  const std::string& line = solution.conflict[0];
  CAPTURE(line);
  CHECK(
      line.starts_with("accepted by the paper's formula at I = " + std::to_string(ii) + ", L = "));
  CHECK(line.find(", refused by the verifier: " + rule) != std::string::npos);
}

// Has the CNF at (I, L) a model? Models of the corrected form must be schedules.
bool satisfiable(const Problem& problem, Cycle ii, Cycle length, bool literal,
                 const std::string& encoding = "") {
  Budget budget({}, 0, 0, 0);
  SatSolver solver(budget, 0);
  Formula formula(solver);
  StraightLineRequest request;
  request.ii = ii;
  request.length = length;
  request.literal = literal;
  const StraightLineEncoding q =
      encode_straight_line(formula, problem, request, parse_encoding(encoding));
  const bool sat = solver.solve() == Verdict::sat;
  if (sat && !literal) {
    const Schedule schedule = q.decode(problem, [&](Lit l) { return solver.value(l); });
    CHECK(schedule.length <= length);
    const auto violation = verify(problem, schedule);
    CHECK_MESSAGE(!violation, (violation ? violation->text : ""));
  }
  return sat;
}

// Small enough for exhaustive search in moments.
LoopKnobs tiny() {
  LoopKnobs knobs;
  knobs.charged_rings = false;  // refused by the literal form
  knobs.max_ops = 3;
  knobs.max_cycles = 2;
  knobs.max_slots = 2;
  knobs.max_spill = 2;
  return knobs;
}

}  // namespace

TEST_CASE("the printed formula accepts three loops that do not run") {
  for (const std::string stages : {"paper", "complete"}) {
    CAPTURE(stages);
    check_refused(run(example("undercount"), "straight-line-literal", stages), 2, "registers");
    check_refused(run(example("undercount-figure-1"), "straight-line-literal", stages), 2,
                  "registers");
    check_refused(run(example("carried-spill"), "straight-line-literal", stages), 2,
                  "b[1] on w1 at 2 < a[0] on load at 1 + delay 1 + spill 3 = 5");
  }
}

TEST_CASE("figure-1 is I = 2, L = 4 in every form and window") {
  for (const std::string form : {"modulo", "straight-line", "straight-line-literal"})
    for (const std::string stages : {"paper", "complete", "3"}) {
      CAPTURE(form);
      CAPTURE(stages);
      check_optimal(run(example("figure-1"), form, stages), 2, 4);
    }
}

TEST_CASE("the corrected formula has the true answers") {
  for (const std::string stages : {"paper", "complete"}) {
    CAPTURE(stages);
    const Solution none = run(example("undercount"), "straight-line", stages);
    CHECK(none.status == Status::infeasible);
    CHECK_FALSE(none.conflict.empty());
    CHECK(run(example("undercount-figure-1"), "straight-line", stages)
              .schedule->initiation_interval == 3);
    CHECK(run(example("carried-spill"), "straight-line", stages).schedule->initiation_interval ==
          5);
    check_optimal(run(example("gap"), "straight-line", stages), 3, 4);
    check_optimal(run(example("non-monotone"), "straight-line", stages), 2, 4);
    const Solution three = run(example("non-monotone"), "straight-line", stages, 3);
    CHECK(three.status == Status::infeasible);
    CHECK_FALSE(three.schedule);
    CHECK_FALSE(three.conflict.empty());
  }
}

TEST_CASE("stage-gap: the paper's window costs a factor of five") {
  const Problem problem = example("stage-gap");
  const Solution paper = run(problem, "straight-line", "paper");
  REQUIRE(paper.schedule);
  CHECK(paper.schedule->initiation_interval == 5);
  CHECK(paper.status == Status::optimal);
  check_optimal(run(problem, "straight-line", "complete"), 1, 5);
  check_optimal(run(problem, "straight-line", "5"), 1, 5);
  const Solution printed = run(problem, "straight-line-literal", "paper");
  REQUIRE(printed.schedule);
  CHECK(printed.schedule->initiation_interval == 5);
  CHECK(printed.status == Status::feasible);  // its refutations are no proof
  CHECK(printed.ii_lower_bound == 1);
}

TEST_CASE("holds, zero-cycle ops at L and the variable-latency slot at their limits") {
  Problem p;
  p.name = "limits";
  p.units = {{"A", 1}, {"B", 1}};
  p.warps = {{"w", 1, 11, false}};
  p.ops = {Op{"v", "", 1, {{0, 0, 1, 1}}, 1, {}, 0, 1, false, false},
           Op{"u", "", 1, {{1, 0, 1, 1}}, 0, {}, 0, 1, false, false}};
  p.edges = {Edge{0, 1, 1, 0, false, 10}};
  CHECK(satisfiable(p, 1, 2, false));  // v is live for 1 + 10 cycles: 11 copies
  p.warps[0].registers = 10;
  CHECK_FALSE(satisfiable(p, 1, 2, false));

  // z is issued at L = 1 < I = 3, and live from there until the next iteration.
  p.ops[1] = Op{"z", "", 0, {}, 1, {}, 0, 1, false, false};
  p.ops[0].registers = 0;
  p.edges = {Edge{0, 1, 1, 0, false, 0}, Edge{1, 0, 0, 1, false, 0}};
  CHECK(satisfiable(p, 3, 1, false));
  p.warps[0].registers = 0;
  CHECK_FALSE(satisfiable(p, 3, 1, false));

  // All ops of zero cycles: L = 0.
  p.ops = {Op{"z", "", 0, {}, 0, {}, 0, 1, false, false}};
  p.edges.clear();
  check_optimal(run(p, "straight-line", "complete"), 1, 0);

  // u waits for v on a slot where v always executes: allowed on the variable-latency slot only.
  for (const bool marked : {true, false}) {
    p.warps = {{"load", 1, 0, marked}};
    p.ops = {Op{"v", "", 2, {{0, 0, 1, 1}}, 0, {}, 0, 1, marked, false},
             Op{"u", "", 2, {{1, 0, 1, 1}}, 0, {}, 0, 1, marked, false}};
    p.edges = {Edge{0, 1, 2, 0, true, 0}};
    for (const bool literal : {false, true}) CHECK(satisfiable(p, 1, 4, literal) == marked);
  }
}

TEST_CASE("limits end the search") {
  Options options;
  options.encoding = "form=straight-line";
  std::stop_source source;
  source.request_stop();
  const Solution stopped = solve(example("figure-1"), options, source.get_token());
  CHECK(stopped.status == Status::unknown);
  CHECK_FALSE(stopped.schedule);
  Problem raw = example("figure-1");
  for (Op& op : raw.ops) op.cycles = op.reservations[0].length = 10'000'000;
  options.stages = "2";
  const Solution large = solve(raw, options);
  CHECK(large.status == Status::unknown);
  REQUIRE(large.conflict.size() == 1);
  CHECK(large.conflict[0].find("more than 100000000 variables") != std::string::npos);
}

TEST_CASE("the corrected formula agrees with exhaustive search") {
  int feasible = 0, infeasible = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem = random_loop(seed, tiny());
    CAPTURE(seed);
    const Cycle stages = 3;
    const auto expected = brute_force(problem, serial_ii(problem), stages);
    const Solution found = run(problem, "straight-line", std::to_string(stages));
    REQUIRE(found.schedule.has_value() == expected.has_value());
    REQUIRE(found.status == (expected ? Status::optimal : Status::infeasible));
    ++(expected ? feasible : infeasible);
    if (!expected) continue;
    CHECK(found.schedule->initiation_interval == expected->initiation_interval);
    CHECK(found.schedule->length == expected->length);
    CHECK(stage_count(*found.schedule) <= stages);
  }
  CHECK(feasible > 20);
  CHECK(infeasible > 2);
}

TEST_CASE("every length: satisfiable exactly from the shortest schedule on") {
  int answers[2] = {0, 0};
  std::vector<std::string> encodings;
  for (const EncodingInfo& row : encoding_table())
    if (row.key == "amo" || row.key == "card" || row.key == "pb")
      encodings.push_back(row.key + "=" + row.value);
  for (std::uint64_t seed = 1000; seed < 1120; ++seed) {
    const Problem problem = random_loop(seed, tiny());
    for (Cycle ii = 1; ii <= 3; ++ii) {
      const auto best = brute_force_at(problem, ii, 4);
      for (Cycle length = 1; length <= 3 * ii; ++length) {
        CAPTURE(seed);
        CAPTURE(ii);
        CAPTURE(length);
        const bool expected = best && best->length <= length;
        CHECK(satisfiable(problem, ii, length, false, encodings[seed % encodings.size()]) ==
              expected);
        ++answers[expected];
      }
    }
  }
  CHECK(answers[0] > 50);
  CHECK(answers[1] > 50);
}

TEST_CASE("charged rings: satisfiable exactly from the shortest schedule on") {
  int answers[2] = {0, 0};
  for (std::uint64_t seed = 1500; seed < 1620; ++seed) {
    const Problem problem = ring_loop(seed, tiny());
    for (Cycle ii = 1; ii <= 3; ++ii) {
      const auto best = brute_force_at(problem, ii, 4);
      for (Cycle length = 1; length <= 3 * ii; ++length) {
        CAPTURE(seed);
        CAPTURE(ii);
        CAPTURE(length);
        const bool expected = best && best->length <= length;
        CHECK(satisfiable(problem, ii, length, false) == expected);
        ++answers[expected];
      }
    }
  }
  CHECK(answers[0] > 50);
  CHECK(answers[1] > 50);
}

TEST_CASE("complete search and the paper's window agree with the modulo form") {
  for (std::uint64_t seed = 2000; seed < 2060; ++seed) {
    LoopKnobs knobs;
    knobs.charged_rings = false;
    knobs.max_ops = 4;
    const Problem problem = random_loop(seed, knobs);
    CAPTURE(seed);
    for (const std::string stages : {"complete", "paper"}) {
      CAPTURE(stages);
      const Solution a = run(problem, "straight-line", stages);
      const Solution b = run(problem, "modulo", stages);
      CHECK(a.status == b.status);
      REQUIRE(a.schedule.has_value() == b.schedule.has_value());
      if (!a.schedule) continue;
      CHECK(a.schedule->initiation_interval == b.schedule->initiation_interval);
      CHECK(a.schedule->length == b.schedule->length);
    }
  }
}

TEST_CASE("SMT-LIB text of one op, as printed") {
  Problem p;
  p.name = "one";
  p.units = {{"A", 1}};
  p.warps = {{"w", 1, 4, false}};
  p.ops = {Op{"a\nb", "", 1, {{0, 0, 1, 1}}, 4, {}, 0, 1, false, false}};
  p.edges = {Edge{0, 0, 1, 1, false, 0}};
  const std::string text = smtlib(p, 1, 2, true);
  const std::string expected =
      "; Soi et al. 2025, Figures 4-6 as printed: I = 1, L = 2, 2 copies, T = 3\n"
      "; op 0 = a?b\n"
      "; slot 0 = w\n"
      "(set-logic QF_LIA)\n"
      "(declare-fun op_0_0_0 () Bool)\n"
      "(declare-fun op_0_0_1 () Bool)\n"
      "(declare-fun op_0_0_2 () Bool)\n"
      "(declare-fun live_0_0_0 () Bool)\n"
      "(declare-fun live_0_0_1 () Bool)\n"
      "(declare-fun live_0_0_2 () Bool)\n"
      "(declare-fun live_0_0_3 () Bool)\n"
      "(declare-fun op_0_1_0 () Bool)\n"
      "(declare-fun op_0_1_1 () Bool)\n"
      "(declare-fun op_0_1_2 () Bool)\n"
      "(declare-fun live_0_1_0 () Bool)\n"
      "(declare-fun live_0_1_1 () Bool)\n"
      "(declare-fun live_0_1_2 () Bool)\n"
      "(declare-fun live_0_1_3 () Bool)\n"
      "(declare-fun opw_0_0 () Bool)\n"
      "; Abbreviation: by_v_i_t = copy i of op v is issued in cycle t or before\n"
      "(declare-fun by_0_0_0 () Bool)\n"
      "(assert (= by_0_0_0 op_0_0_0))\n"
      "(declare-fun by_0_1_1 () Bool)\n"
      "(assert (= by_0_1_1 op_0_1_1))\n"
      "; UNIQUENESS\n"
      "(assert (= (+ (ite op_0_0_0 1 0) (ite op_0_0_1 1 0) (ite op_0_0_2 1 0)) 1))\n"
      "(assert (= (+ (ite op_0_1_0 1 0) (ite op_0_1_1 1 0) (ite op_0_1_2 1 0)) 1))\n"
      "; CONSISTENCY\n"
      "(assert (=> op_0_0_0 op_0_1_1))\n"
      "(assert (=> op_0_0_1 op_0_1_2))\n"
      "(assert (not op_0_0_2))\n"
      "; COMPLETION\n"
      "; DEPENDENCE\n"
      "(assert (=> op_0_0_1 (not by_0_1_1)))\n"
      "; CAPACITY\n"
      "(assert (<= (ite by_0_0_0 1 0) 1))\n"
      "(assert (<= (+ (ite (not by_0_0_0) 1 0) (ite by_0_1_1 1 0)) 1))\n"
      "(assert (<= (ite (not by_0_1_1) 1 0) 1))\n"
      "; INIT\n"
      "(assert (not live_0_0_3))\n"
      "(assert live_0_1_3)\n"
      "; LIVEPROP-1, LIVEPROP-2, DEADPROP-1, DEADPROP-2\n"
      "(assert (= live_0_0_0 (or (and live_0_0_1 (not op_0_0_1)) (and (not live_0_0_1) "
      "op_0_1_1))))\n"
      "(assert (= live_0_0_1 (or live_0_0_2 (and (not live_0_0_2) op_0_1_2))))\n"
      "(assert (= live_0_0_2 live_0_0_3))\n"
      "(assert (= live_0_1_0 (and live_0_1_1 (not op_0_1_1))))\n"
      "(assert (= live_0_1_1 (and live_0_1_2 (not op_0_1_2))))\n"
      "(assert (= live_0_1_2 live_0_1_3))\n"
      "; MEMORY CAPACITY\n"
      "; WARP UNIQUENESS\n"
      "(assert (= (ite opw_0_0 1 0) 1))\n"
      "; VARIABLE LATENCY\n"
      "; REGISTER LIMIT\n"
      "(assert (<= (+ (ite (and live_0_0_0 opw_0_0) 4 0) (ite (and live_0_1_0 opw_0_0) 4 0)) 4))\n"
      "(assert (<= (+ (ite (and live_0_0_1 opw_0_0) 4 0) (ite (and live_0_1_1 opw_0_0) 4 0)) 4))\n"
      "(assert (<= (+ (ite (and live_0_0_2 opw_0_0) 4 0) (ite (and live_0_1_2 opw_0_0) 4 0)) 4))\n"
      "; CROSS-WARP SPILLS\n"
      "; CONCURRENCY\n"
      "(define-fun run_0_0 () Bool by_0_0_0)\n"
      "(define-fun run_0_1 () Bool (or (not by_0_0_0) by_0_1_1))\n"
      "(define-fun run_0_2 () Bool (not by_0_1_1))\n"
      "(check-sat)\n";
  CHECK(text == expected);
}

TEST_CASE("SMT solvers agree with the CNF, both forms") {
  std::vector<std::string> solvers;
  for (const std::string name : {"z3", "yices-smt2"})
    if (std::system(("command -v " + name + " > /dev/null 2>&1").c_str()) == 0)
      solvers.push_back(name);
  if (solvers.empty()) {
    MESSAGE("skipped: no SMT solver (z3, yices-smt2) on the PATH");
    return;
  }
  // One file of queries, each after a reset, and one process a solver.
  std::string queries;
  std::vector<std::string> names;
  std::vector<bool> expected;
  const auto compare = [&](const Problem& problem, Cycle ii, Cycle length, bool literal) {
    queries += smtlib(problem, ii, length, literal) + "(reset)\n";
    names.push_back(problem.name + ", I = " + std::to_string(ii) +
                    ", L = " + std::to_string(length) + (literal ? ", printed" : ", corrected"));
    expected.push_back(satisfiable(problem, ii, length, literal));
  };
  for (const char* name : {"figure-1", "undercount", "undercount-figure-1", "carried-spill",
                           "stage-gap", "gap", "non-monotone"})
    for (const bool literal : {false, true})
      for (Cycle ii = 2; ii <= 3; ++ii) compare(example(name), ii, 4, literal);
  for (std::uint64_t seed = 3000; seed < 3030; ++seed)
    for (const bool literal : {false, true})
      for (Cycle ii = 1; ii <= 3; ii += 2) compare(random_loop(seed, tiny()), ii, ii + 2, literal);
  for (std::uint64_t seed = 3200; seed < 3240; ++seed)
    for (Cycle ii = 1; ii <= 3; ++ii) compare(ring_loop(seed, tiny()), ii, 2 * ii, false);
  // op0 takes no cycles and may be issued at L, where copy 3 of op1 would execute: N = 3 copies are
  // not enough to see that.
  compare(random_loop(3118, tiny()), 1, 3, false);
  CHECK_FALSE(expected.back());
  const auto sat = std::count(expected.begin(), expected.end(), true);
  CHECK(sat > 20);
  CHECK(sat < static_cast<std::ptrdiff_t>(expected.size()) - 20);
  TemporaryDirectory directory;
  const std::string file = directory / "queries.smt2";
  write_file(file, queries);
  for (const std::string& solver : solvers) {
    CAPTURE(solver);
    std::FILE* pipe = popen((solver + " " + file + " 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    for (std::size_t i = 0; i < names.size(); ++i) {
      CAPTURE(names[i]);
      char answer[64] = {};
      CHECK(std::fgets(answer, sizeof answer, pipe) != nullptr);
      CHECK(std::string(answer) == (expected[i] ? "sat\n" : "unsat\n"));
    }
    CHECK(std::fgetc(pipe) == EOF);
    CHECK(pclose(pipe) == 0);
  }
}

}  // namespace straight_line_test
