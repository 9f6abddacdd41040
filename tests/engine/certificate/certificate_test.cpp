// Certificates: what both engines write is accepted, and what has been changed is refused, whether
// by a flipped bit or by someone who also mends the hashes.
#include <doctest/doctest.h>

#include <cstdlib>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/formula_text.hpp"
#include "engine/certificate/lemma_cycles.hpp"
#include "engine/certificate/lifetime_lemma.hpp"
#include "engine/certificate/manifest.hpp"
#include "engine/certificate/proof_files.hpp"
#include "engine/certificate/regenerate.hpp"
#include "engine/include/twill.hpp"
#include "graph/io/file.hpp"
#include "graph/io/sha256.hpp"
#include "tests/support/forgery.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace certificate_test {

using namespace twill;
using namespace twill::test;
namespace fs = std::filesystem;

namespace {

Problem example(const std::string& name) {
  return read_problem(std::string(TWILL_TEST_DATA) + "/examples/" + name + ".problem.json");
}

Solution solved(const Problem& problem, const std::string& engine, Options options = {}) {
  options.engine = engine;
  options.evidence = true;
  return solve(problem, options);
}

std::vector<std::string> files_of(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Registers that make I = 3 and not the bound, so that there is something to refute: both engines
/// prove I and L by search.
Problem hard() {
  return example("figure-1");
}

}  // namespace

TEST_CASE("both engines certify the examples") {
  for (const std::string name : {"figure-1", "undercount", "undercount-figure-1", "carried-spill",
                                 "stage-gap", "gap", "non-monotone"})
    for (const std::string engine : {"order", "time_indexed"}) {
      CAPTURE(name);
      CAPTURE(engine);
      const Problem problem = example(name);
      const TemporaryDirectory directory;
      const Solution solution = solved(problem, engine);
      write_certificate(directory / "c", problem, solution);
      const CertificateReport report = check(directory / "c");
      CHECK(report.refusal == "");
      CHECK(report.accepted);
      CHECK_FALSE(report.proved.empty());
      CHECK(report.solution.schedule == solution.schedule);
      CHECK(directory.entries() == 1);  // no draft is left
    }
}

TEST_CASE("limits, pins, one interval and what has no schedule at all") {
  const Problem problem = example("stage-gap");
  for (const std::string engine : {"order", "time_indexed"}) {
    CAPTURE(engine);
    const auto certified = [&](const Problem& p, const Options& options) {
      const TemporaryDirectory directory;
      const Solution solution = solved(p, engine, options);
      write_certificate(directory / "c", p, solution);
      const CertificateReport report = check(directory / "c");
      CHECK(report.refusal == "");
      std::string text = to_string(report.solution.status);
      if (!report.restriction.empty()) text += " among schedules " + report.restriction;
      for (const std::string& line : report.proved) {
        std::string_view says = line;
        // What was restricted stands in every claim.
        if (const std::string among = "among schedules " + report.restriction + ": ";
            !report.restriction.empty()) {
          CHECK(says.starts_with(among));
          says.remove_prefix(std::min(says.size(), among.size()));
        }
        text += "; " + std::string(says.substr(0, says.find(':')));
      }
      return text;
    };
    Options few;
    few.stages = "1";
    CHECK(certified(problem, few) ==
          "optimal among schedules of at most 1 stage; no schedule has I < 5; at I = 5 no schedule "
          "has L < 5");
    Options only;
    only.ii = 3;
    CHECK(certified(problem, only) ==
          "optimal among schedules at I = 3; at I = 3 no schedule has L < 5");
    Options pinned;
    pinned.pins = {{problem.ops[0].id, problem.warps[0].name}};
    CHECK(certified(problem, pinned).starts_with("optimal; no "));
    Options apart;
    apart.handover = false;
    CHECK(certified(problem, apart) ==
          "infeasible among schedules without hand-overs of registers between slots; no schedule "
          "exists at any I");
    // One result alone exceeds the registers of every slot.
    Problem impossible = example("figure-1");
    for (WarpSlot& slot : impossible.warps) slot.registers = 1;
    for (Op& op : impossible.ops) op.registers = 2;
    CHECK(certified(impossible, {}) ==
          "infeasible; no schedule has I < 6; no schedule exists at any I");
    only.ii = 1;
    CHECK(certified(example("non-monotone"), only) ==
          "infeasible among schedules at I = 1; no schedule has I < 2");
    only.ii = 3;
    CHECK(certified(example("non-monotone"), only) ==
          "infeasible among schedules at I = 3; no schedule has I = 3; no schedule has I < 2");
  }
  Options paper;
  paper.stages = "paper";
  CHECK_THROWS_AS(solved(problem, "order", paper), InputError);
  // Without evidence there is nothing to write but bounds.
  const TemporaryDirectory directory;
  CHECK_THROWS_AS(
      write_certificate(directory / "c", example("figure-1"), solve(example("figure-1"))),
      InputError);
  CHECK(directory.entries() == 0);
}

TEST_CASE("random loops are certified by both engines alike") {
  int refutations = 0, none = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.flight = seed % 2 == 0;
    knobs.max_channels = seed % 3 == 0 ? 2 : 0;
    const Problem problem = random_loop(seed, knobs);
    for (const std::string engine : {"order", "time_indexed"}) {
      CAPTURE(engine);
      const TemporaryDirectory directory;
      const Solution solution = solved(problem, engine);
      none += solution.status == Status::infeasible ? 1 : 0;
      write_certificate(directory / "c", problem, solution);
      const CertificateReport report = check(directory / "c");
      CHECK(report.refusal == "");
      for (const std::string& line : report.proved)
        refutations += line.find(": refutation") != std::string::npos ? 1 : 0;
    }
  }
  CHECK(refutations > 100);
  CHECK(none > 5);
}

TEST_CASE("a flipped bit anywhere is refused") {
  for (const std::string engine : {"order", "time_indexed"}) {
    CAPTURE(engine);
    const Problem problem = example("undercount-figure-1");
    const TemporaryDirectory directory;
    write_certificate(directory / "c", problem, solved(problem, engine));
    REQUIRE(verdict(directory / "c") == "accepted");
    const std::vector<std::string> files = files_of(directory / "c");
    CHECK(files.size() >= (engine == "order" ? 7 : 5));
    Random random(17);
    for (const std::string& file : files) {
      CAPTURE(file);
      const std::string good = read_file(file);
      if (good.empty()) continue;
      // Every byte of the manifest, the only file whose hash is nowhere; some of the others.
      const bool all = file.ends_with("manifest.json");
      for (std::size_t i = 0; i < (all ? good.size() : 40); ++i) {
        std::string bad = good;
        const std::size_t at =
            all ? i
                : static_cast<std::size_t>(random.range(0, static_cast<Cycle>(good.size()) - 1));
        bad[at] = static_cast<char>(bad[at] ^ 1 << random.range(0, 7));
        write_file(file, bad);
        CAPTURE(at);
        // (Where there is nothing to leave out, formulas of every detail and share are the same.)
        const std::string_view line = std::string_view(good).substr(0, at + 1);
        const std::string_view name = line.substr(line.rfind('\n') + 1);
        if (all && (name.find("\"detail\"") != name.npos || name.find("\"share\"") != name.npos))
          continue;
        CHECK(verdict(directory / "c") != "accepted");
      }
      write_file(file, good);
      // Cut short, or gone.
      write_file(file, good.substr(0, good.size() - 1));
      CHECK(verdict(directory / "c") != "accepted");
      fs::remove(file);
      CHECK(verdict(directory / "c") != "accepted");
      write_file(file, good);
    }
    CHECK(verdict(directory / "c") == "accepted");
  }
}

TEST_CASE("a forger who mends the hashes is refused where the proof breaks") {
  const Problem problem = example("undercount-figure-1");
  const TemporaryDirectory directory;
  const Solution solution = solved(problem, "order");
  int number = 0;
  const auto forged = [&](const std::string& file,
                          const std::function<void(std::string&)>& change) {
    const std::string copy = directory / std::to_string(++number);
    write_certificate(copy, problem, solution);
    edit(copy + "/" + file, change);
    try {
      mend_hashes(copy);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return verdict(copy);
  };
  const Cycle ii = solution.schedule->initiation_interval;
  const std::string proof = "proofs/interval-" + std::to_string(ii - 1);
  REQUIRE(forged("schedule.json", [](std::string&) {}) == "accepted");
  const auto contains = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  contains(forged(proof + ".drat", [](std::string& t) { t.clear(); }),
           "the proof ends without a refutation");
  contains(forged(proof + ".drat", [](std::string& t) { t.insert(0, std::string("a\x02\0", 3)); }),
           "");  // a unit out of nothing: refused if it is needed, harmless otherwise
  contains(forged(proof + ".cnf", [](std::string& t) { replace(t, " 0\n", " 1 0\n"); }),
           "is not the formula of the problem with its lemmas");
  // What is said about it, too.
  contains(forged(proof + ".cnf", [](std::string& t) { t.insert(0, "c 1-1 nothing\n"); }),
           "is not the formula of the problem with its lemmas");
  contains(forged(proof + ".cnf", [](std::string& t) { replace(t, ">= 0", ">= 1"); }),
           "is not the formula of the problem with its lemmas");
  contains(forged(proof + ".lemmas", [](std::string& t) { t.insert(0, "-1 0 f0\n"); }), "line 1: ");
  contains(forged(proof + ".lemmas", [](std::string& t) { t.insert(0, "0 f0 f1\n"); }),
           "line 1: the weights sum to ");
  contains(forged(proof + ".lemmas", [](std::string& t) { t.insert(0, "hello\n"); }),
           "line 1: is no clause with a cycle");
  contains(forged(proof + ".lemmas", [](std::string& t) { t.insert(0, "-2147483647 0 f0\n"); }),
           "line 1: has a literal of no variable of the formula");
  // Lines that leave their clause to their cycle.
  contains(forged(proof + ".lemmas", [](std::string& t) { t.insert(0, "a2147483647\n"); }),
           "line 1: has a literal of no variable of the formula");
  contains(forged(proof + ".lemmas", [](std::string& t) { t.insert(0, "a2147483648\n"); }),
           "line 1: is no clause with a cycle");
  contains(forged(proof + ".lemmas", [](std::string& t) { t.insert(0, "a-1\n"); }),
           "line 1: is no clause with a cycle");
  contains(forged(proof + ".lemmas", [](std::string& t) { t.insert(0, "f0 f1\n"); }),
           "line 1: the weights sum to ");
  contains(forged(proof + ".lemmas", [](std::string& t) { t.insert(0, "a1 x2\n"); }),
           "line 1: a step is ");
  // Another clause for the same cycle is another formula.
  contains(forged(proof + ".lemmas",
                  [](std::string& t) {
                    std::size_t at = 0;
                    for (const std::string_view text : lines_of(t)) {
                      const auto line = parse_lemma(text);
                      REQUIRE(line);
                      if (line->literals.size() > 1 && line->cycle == text) {
                        std::string clause;
                        for (auto l = line->literals.rbegin(); l != line->literals.rend(); ++l)
                          clause += std::to_string(*l) + " ";
                        return void(t.insert(at, clause + "0 "));
                      }
                      at += text.size() + 1;
                    }
                    FAIL("no lemma of two literals");
                  }),
           "is not the formula of the problem with its lemmas");
  contains(forged(proof + ".refinements", [](std::string& t) { t += "1 2\n"; }), "is no model");
  // Models that were refined and are left out: then lemmas are about more than the formula.
  contains(forged("manifest.json",
                  [&](std::string& t) {
                    const std::size_t end = t.find(proof + ".lemmas");
                    const std::size_t begin = t.find(proof + ".refinements");
                    REQUIRE(end < begin);
                    t.erase(t.find(',', end), t.find('\n', begin) - t.find(',', end));
                  }),
           "has a literal of no variable of the formula");
  contains(forged("schedule.json",
                  [&](std::string& t) {
                    replace(
                        t, "\"initiation_interval\": " + std::to_string(ii) + ",\n    \"length\"",
                        "\"initiation_interval\": " + std::to_string(ii - 1) + ",\n    \"length\"");
                  }),
           "is called optimal, its bound is");
  contains(
      forged("schedule.json", [](std::string& t) { replace(t, "\"start\": 0", "\"start\": 1"); }),
      "schedule.json: ");
  contains(forged("problem.json",
                  [](std::string& t) { replace(t, "\"cycle_unit\": 1.0", "\"cycle_unit\": 2.0"); }),
           "it is for the problem ");
  // Requests that do not cover what is claimed.
  const auto requested = [&](const std::string& from, const std::string& to) {
    return forged("manifest.json", [&](std::string& t) { replace(t, from, to); });
  };
  CHECK(requested("\"stages\": ", "\"stages\": 1") != "accepted");
  contains(requested("\"initiation_interval\": " + std::to_string(ii - 1),
                     "\"initiation_interval\": " + std::to_string(ii)),
           ": ");
  contains(requested("\"handover\": true", "\"handover\": false"), ": ");
  contains(requested("\"engine\": \"order\"", "\"engine\": \"cnf\""), "unknown key");
  contains(requested("no schedule has I < ", "no schedule at all has I < "),
           "claims something else than what is proved");
}

TEST_CASE("what charged rings refute is not refuted without, or where there is more memory") {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  knobs.max_slots = 2;
  int forged = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const Problem problem = ring_loop(seed, knobs);
    Problem live = problem, larger = problem;
    for (Memory& memory : live.memories) memory.rings = false;
    larger.memories[0].capacity *= 4;
    for (const std::string engine : {"order", "time_indexed"}) {
      const Solution solution = solved(problem, engine);
      if (!solution.schedule) continue;
      for (const Problem* other : {&live, &larger}) {
        const Cycle ii = solution.schedule->initiation_interval;
        if (solve(*other).schedule->initiation_interval == ii) continue;
        const TemporaryDirectory directory;
        write_certificate(directory / "c", problem, solution);
        REQUIRE(verdict(directory / "c") == "accepted");
        const std::string text = problem_text(*other);
        const std::string hash = sha256(read_file(directory / "c/problem.json"));
        write_file(directory / "c/problem.json", text);
        edit(directory / "c/schedule.json",
             [&](std::string& t) { replace(t, hash, sha256(text)); });
        mend_hashes(directory / "c");
        const std::string why = verdict(directory / "c");
        CAPTURE(why);
        // At the refutation, not at a hash.
        CHECK((why.starts_with("proofs/") || why.starts_with("schedule.json: not proved: ")));
        ++forged;
      }
    }
  }
  CHECK(forged > 20);
}

TEST_CASE("a formula's file may say any number of clauses") {
  const Problem problem = example("undercount-figure-1");
  for (const std::string engine : {"order", "time_indexed"}) {
    CAPTURE(engine);
    const TemporaryDirectory directory;
    write_certificate(directory / "c", problem, solved(problem, engine));
    int formulas = 0;
    for (const std::string& file : files_of(directory / "c")) {
      if (!file.ends_with(".cnf")) continue;
      ++formulas;
      const std::string before = read_file(file);
      const std::size_t header = before.find("p cnf ");
      const std::string rest = before.substr(before.find('\n', header));
      for (const char* numbers : {"2 -9223372036854775808", "-9223372036854775808 2", "-1 -1",
                                  "99999999999999999999 99999999999999999999", "", "2"}) {
        CAPTURE(numbers);
        write_file(file, before.substr(0, header) + "p cnf " + numbers + rest);
        CHECK(verdict(directory / "c").starts_with("proofs/"));
      }
      write_file(file, before);
    }
    CHECK(formulas > 0);
    CHECK(verdict(directory / "c") == "accepted");
  }
}

TEST_CASE("whatever ops are called, a formula's comments stay comments") {
  Problem problem = example("undercount-figure-1");
  for (Op& op : problem.ops) op.id += "\np cnf 1 1\r1 0\n";
  for (const std::string engine : {"order", "time_indexed"}) {
    CAPTURE(engine);
    const TemporaryDirectory directory;
    write_certificate(directory / "c", problem, solved(problem, engine));
    CHECK(verdict(directory / "c") == "accepted");
    int formulas = 0;
    for (const std::string& file : files_of(directory / "c")) {
      if (!file.ends_with(".cnf")) continue;
      ++formulas;
      const std::string text = read_file(file);
      CHECK(text.find('\r') == std::string::npos);
      int comments = 0, headers = 0;
      for (const std::string_view line : lines_of(text)) {
        if (line.starts_with("c ") && headers == 0)
          ++comments;
        else if (line.starts_with("p cnf "))
          ++headers;
        else
          CHECK((headers == 1 && line.ends_with(" 0")));
      }
      CHECK(comments > 3);
      CHECK(headers == 1);
    }
    CHECK(formulas > 0);
  }
}

TEST_CASE("requests that leave schedules out are refused") {
  // The refutation is genuine, its formula is just not about all schedules.
  const Problem problem = example("stage-gap");
  const Solution best = solve(problem);
  REQUIRE(best.schedule);
  Options few;
  few.stages = "1";
  few.ii = best.schedule->initiation_interval;  // works, but not within one stage
  Solution liar = solved(problem, "order", few);
  REQUIRE(liar.status == Status::infeasible);
  liar.stages = "complete";
  const TemporaryDirectory directory;
  CHECK_THROWS_AS(write_certificate(directory / "c", problem, liar), InputError);
  Options none;
  none.ii = 2;
  none.handover = false;
  Solution apart = solved(example("carried-spill"), "order", none);
  if (apart.status == Status::infeasible) {
    apart.options.clear();
    apart.options = {{"ii", "2"}};
    CHECK_THROWS_AS(write_certificate(directory / "c", example("carried-spill"), apart),
                    InputError);
  }
}

TEST_CASE("a directory that holds something is left alone") {
  const Problem problem = hard();
  const TemporaryDirectory directory;
  write_file(directory / "precious", "data");
  const Solution solution = solved(problem, "order");
  CHECK_THROWS_AS(write_certificate(directory / "", problem, solution), InputError);
  CHECK_THROWS_AS(write_certificate(directory / "precious", problem, solution), InputError);
  CHECK_THROWS_AS(write_certificate(directory / "absent/c", problem, solution), InputError);
  CHECK(read_file(directory / "precious") == "data");
  CHECK(directory.entries() == 1);
  fs::create_directory(directory / "empty");
  write_certificate(directory / "empty", problem, solution);
  CHECK(verdict(directory / "empty") == "accepted");
}

TEST_CASE("cycles of difference rows are added up") {
  // row(1) - 0 >= 0; 0 - row(1) >= 1 - I; atoms: row(2) - row(1) >= 3, row(1) - row(2) >= -2.
  const std::vector<Difference> facts = {{0, 1, 0, 0}, {1, 0, 1, -1}};
  const std::vector<DifferenceAtom> atoms = {
      {{1, 2, 3, 0}, 7}, {{2, 1, -2, 0}, 8}, {{2, 1, 0, 1, 1}, 9}};
  const DifferenceRows rows(3, facts, atoms, {}, 5, 6);
  const std::vector<int> both = {-7, -8};
  CHECK(cycle_fault(rows, both, "a7 a8") == "");
  CHECK(cycle_fault(rows, both, "a8 a7") == "");
  const auto searched = CycleFinder(rows).cycle(both);
  REQUIRE(searched);
  CHECK(cycle_fault(rows, both, *searched) == "");
  // Steps that are known are written as they are, facts between them, as long as they add up.
  const auto written = [&](const std::vector<int>& lemma, const std::vector<LemmaStep>& steps) {
    return all_text([&](TextWriter& text) {
      if (!CycleFinder(rows).write(lemma, steps, text)) text.put("none");
    });
  };
  CHECK(written(both, {{-7}, {-8}}) == "a7 a8");
  CHECK(written(both, {{-8}, {-7}}) == "-7 -8 0 a8 a7");
  CHECK(written(both, {{-7}}) == "-7 -8 0 " + *searched);
  CHECK(written(both, {}) == "-7 -8 0 " + *searched);
  CHECK(written(both, {{-7}, {0, 3}}) == "-7 -8 0 " + *searched);  // there is no such sum
  CHECK(written({-7}, {{-7}}) == "none");
  // 0 - row(1) >= -2, then row(1) - row(1) by facts: 5 - 1 - 2 > 0.
  const std::vector<DifferenceAtom> late = {{{0, 1, 5, 0}, 7}};
  const DifferenceRows tight(3, facts, late, {}, 5, 6);
  CHECK(all_text([&](TextWriter& text) {
          CHECK(CycleFinder(tight).write(std::vector<int>{-7}, std::vector<LemmaStep>{{-7}}, text));
        }) == "a7 f1");
  CHECK(cycle_fault(rows, std::vector<int>{-7}, "a7 a8") ==
        "a step is neither a fact nor asserted by the lemma's negation");
  CHECK(cycle_fault(rows, both, "a7") == "the steps do not close a cycle");
  CHECK(cycle_fault(rows, both, "") == "the steps do not close a cycle");
  CHECK(cycle_fault(rows, both, "a7 f0") == "a step does not begin where the last one ended");
  CHECK(cycle_fault(rows, both, "f0 f1") == "the weights sum to -4, not more than 0");
  CHECK(cycle_fault(rows, both, "f9 f1") ==
        "a step is neither a fact nor asserted by the lemma's negation");
  CHECK(cycle_fault(rows, both, "x") == "a step is no f, a, n or s with a number");
  CHECK(cycle_fault(rows, both, "a7 a8 ") == "");
  // The negation of a positive literal: not (row(2) - row(1) >= 3) is row(1) - row(2) >= -2.
  CHECK(cycle_fault(rows, std::vector<int>{7, -8}, "n7 a8") != "");
  CHECK_FALSE(CycleFinder(rows).cycle(std::vector<int>{7, -8}));
  // Turns and deadlines: row(1) - row(2) >= I - D = -1.
  CHECK(cycle_fault(rows, std::vector<int>{-7, -9}, "a7 a9") == "");
  // Facts alone.
  CHECK_FALSE(CycleFinder(rows).cycle(std::vector<int>{}));
  const std::vector<Difference> clash = {{0, 1, 3, 0}, {1, 2, 0, 0}, {2, 0, -2, 0}};
  const DifferenceRows bad(3, clash, atoms, {}, 5, 6);
  const auto cycle = CycleFinder(bad).cycle(std::vector<int>{});
  REQUIRE(cycle);
  CHECK(cycle_fault(bad, std::vector<int>{}, *cycle) == "");
}

TEST_CASE("sums are steps of cycles, with what the lemma's negation gives them") {
  // row(2) - row(1) >= 0, 2 more for a7 and 3 more for a8; atom 9: row(1) - row(2) >= -4.
  const std::vector<Difference> facts = {{0, 1, 0, 0}, {1, 0, 1, -1}, {1, 2, 0, 0}};
  const std::vector<DifferenceAtom> atoms = {
      {{0, 1, 1, 0}, 7}, {{0, 2, 1, 0}, 8}, {{2, 1, -4, 0}, 9}};
  const std::vector<DifferenceSum> sums = {{{1, 2, 0, 0}, {{7, 2}, {8, 3}}},
                                           {{2, 0, 0, -1}, {{8, 1}}}};
  const DifferenceRows rows(3, facts, atoms, sums, 5, 6);
  const std::vector<int> lemma = {-7, -8, -9};
  const auto found = CycleFinder(rows).cycle(lemma);
  REQUIRE(found);
  CHECK(found->find('s') != std::string::npos);
  CHECK(cycle_fault(rows, lemma, *found) == "");
  CHECK(cycle_fault(rows, lemma, "a9 s0") == "");
  CHECK(cycle_fault(rows, std::vector<int>{-7, -8, -7, -9}, "s0 a9") == "");  // once each
  CHECK(cycle_fault(rows, std::vector<int>{-7, -9}, "a9 s0") ==
        "the weights sum to -2, not more than 0");
  CHECK(cycle_fault(rows, std::vector<int>{7, -8, -9}, "a9 s0") ==
        "the weights sum to -1, not more than 0");
  CHECK_FALSE(CycleFinder(rows).cycle(std::vector<int>{-7, -9}));
  CHECK_FALSE(CycleFinder(rows).cycle(std::vector<int>{7, -8, -9}));
  CHECK(cycle_fault(rows, lemma, "a9 s2") ==
        "a step is neither a fact nor asserted by the lemma's negation");
  CHECK(rows.sums_within(std::vector<int>{-8, -7, 3}) == std::vector<std::size_t>{0, 1});
  CHECK(rows.sums_within(std::vector<int>{7, 8}).empty());
}

TEST_CASE("sums of lifetimes are added up, with what the lemma's negation gives them") {
  // op1 waits 3 cycles for op0 and holds it 1 more; op0 waits 2 for op1's result of the iteration
  // before. I = 10, D = 14, two stages each; op1 takes 4 cycles.
  Problem problem;
  problem.ops.resize(2);
  problem.ops[0].cycles = 3;
  problem.ops[1].cycles = 4;
  problem.edges.resize(2);
  problem.edges[0] = {.from = 0, .to = 1, .delay = 3, .distance = 0, .hold = 1};
  problem.edges[1] = {.from = 1, .to = 0, .delay = 2, .distance = 1};
  EncodedFormula formula;
  formula.nodes = {"0", "row(op0)", "row(op1)"};
  formula.stages = {{5, 0, 1}, {6, 1, 1}};
  const std::vector<Difference> facts = {{0, 1, 0, 0}, {0, 2, 0, 0}, {1, 0, 1, -1}, {2, 0, 1, -1}};
  const std::vector<DifferenceAtom> atoms = {{{1, 2, 6, 0}, 7}};
  const DifferenceRows rows(3, facts, atoms, {}, 10, 14);
  const auto fault = [&](const std::vector<int>& lemma, const char* reason, std::int64_t most,
                         Cycle deadline = 14) {
    return lifetime_fault({problem, 10, deadline, 2, most}, formula, rows, lemma, reason);
  };
  // Round the recurrence: 10 cycles and what is held. One use needs its delay.
  CHECK(fault({}, "L u0 u1", 10) == "");
  CHECK(fault({}, "L u0 u1", 11) == "the lifetimes sum to 11 or more, which is allowed");
  CHECK(fault({}, "L u0 d0", 3) == "");
  CHECK(fault({}, "L u0 d0", 4) == "the lifetimes sum to 4 or more, which is allowed");
  CHECK(fault({}, "L u0 d1", 3) == "the rows do not cancel");
  CHECK(fault({}, "L u0 d0*2", 3) == "the rows do not cancel");
  // Orders and stages: op1 6 rows later, and a stage later where literals say so.
  CHECK(fault({-7}, "L u0 a7", 6) == "the lifetimes sum to -3 or more, which is allowed");
  CHECK(fault({-7, 5, -6}, "L u0 a7", 16) == "");
  CHECK(fault({-7, 5, -6}, "L u0 a7", 17) == "the lifetimes sum to 17 or more, which is allowed");
  CHECK(fault({5, -6}, "L u0 a7", 16) == "a step is neither a use, a fact nor denied by the lemma");
  // The length: op1 starts by cycle 10, and where it starts in the second stage, in its row 0.
  CHECK(fault({-6}, "L l1*3 f1*3", 1) == "the lifetimes sum to 0 or more, which is allowed");
  CHECK(fault({-6}, "L l1*3 f1*3", 1, 13) == "");
  CHECK(fault({-6}, "L l1*3 f1*3", 3, 13) == "the lifetimes sum to 3 or more, which is allowed");
  CHECK(fault({-6}, "L l1*3 f1*3", 1, -1) == "a length is no op's");
  CHECK(fault({}, "L l2", 1) == "a length is no op's");
  CHECK(fault({}, "L d2", 1) == "a delay is no edge's");
  CHECK(fault({}, "L u2", 1) == "a use is no edge");
  CHECK(fault({}, "L x1", 1) == "a step is neither a use, a fact nor denied by the lemma");
  CHECK(fault({}, "L u0 u0", 1) == "an op's lifetime is counted twice");
  CHECK(fault({}, "L u0*2 d0*2", 1) == "an op's lifetime is counted twice");
  for (const char* step : {"u", "u0*", "u0*0", "u0*-1", "d0*2x", "f99999999999"})
    CHECK(fault({}, (std::string("L ") + step).c_str(), 1) ==
          "a step is no u, d, l, f or a with a number");
  CHECK(fault({}, "L d0*9223372036854775807", 1) == "the sum is out of range");
}

TEST_CASE("drat-trim has its say when it is on the PATH") {
  const Problem problem = example("undercount-figure-1");
  const TemporaryDirectory directory;
  write_certificate(directory / "c", problem, solved(problem, "order"));
  const std::string old = ::getenv("PATH");
  const auto with = [&](const std::string& script) {
    fs::create_directories(directory / "bin");
    write_file(directory / "bin/drat-trim", script);
    fs::permissions(directory / "bin/drat-trim", fs::perms::owner_all);
    ::setenv("PATH", ((directory / "bin") + ":" + old).c_str(), 1);
    CertificateReport report = check_certificate(directory / "c");
    ::setenv("PATH", old.c_str(), 1);
    return report;
  };
  // It is given the formula and the proof as text; this one looks at both.
  const CertificateReport good =
      with("#!/bin/sh\ngrep -q '^p cnf' \"$1\" && ! grep -q a \"$2\" && echo 's VERIFIED'\n");
  CHECK(good.accepted);
  bool said = false;
  for (const std::string& line : good.checks)
    said = said || line.find("drat-trim verifies it") != std::string::npos;
  CHECK(said);
  const CertificateReport bad = with("#!/bin/sh\necho 's NOT VERIFIED'\nexit 1\n");
  CHECK_FALSE(bad.accepted);
  CHECK(bad.refusal.find("drat-trim does not verify it") != std::string::npos);
}

TEST_CASE("formulas and the certificate's version change together") {
  // A check makes formulas again: certificates of an older encoder would be refused for no reason
  // that a reader could see. Whoever changes one of these hashes raises kVersion in manifest.cpp.
  const Problem problem = example("undercount-figure-1");
  CHECK(manifest_text(problem, {}).find("\"version\": 14,") != std::string::npos);
  const auto hash = [&](auto request) {
    Refutation r;
    r.ii = 3;
    r.encoding = "form=modulo,start=order,amo=pairwise,card=totalizer,pb=bdd,symmetry=on";
    r.request = std::move(request);
    const EncodedFormula formula = regenerate(problem, r);
    return sha256(all_text([&](TextWriter& t) { write_formula(t, formula, {}); })).substr(0, 16);
  };
  OrderRequest order;
  order.ii_low = order.ii_high = 3;
  order.at_once = true;
  OrderRequest stages = order;
  stages.stages = 3;
  ModuloRequest modulo;
  modulo.ii = modulo.stages = 3;
  modulo.detail = 4;
  CHECK(hash(order) == "cd501134a1b32564");
  CHECK(hash(stages) == "482ed1f25890eb8f");
  CHECK(hash(modulo) == "eb86724dd5c63b3f");
}

}  // namespace certificate_test
