// `twill bench` as a user runs it, on the running example of the Twill paper.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

#ifdef TWILL_PROGRAM

using nlohmann::json;
using twill::test::bytes;
using twill::test::contains;
using twill::test::Run;

namespace {

const std::string kFigure = TWILL_TEST_DATA "/examples/figure-1.problem.json";

/// Runs `twill bench ARGUMENTS` by the shell; `path`, when given, is all of PATH.
Run bench(const std::string& arguments, const char* path = nullptr) {
  const std::string before = path == nullptr ? "" : "PATH='" + std::string(path) + "' ";
  return twill::test::run_command(before + "'" TWILL_PROGRAM "' bench " + arguments);
}

std::vector<json> rows(const std::string& text) {
  std::vector<json> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) result.push_back(json::parse(line));
  return result;
}

/// An executable that stands for a solver.
void script(const std::string& path, const std::string& body) {
  std::ofstream(path) << "#!/bin/sh\n" << body;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("row: the figures of one search as JSON") {
  const Run run = bench("row " + kFigure);
  CHECK(run.code == 0);
  const json row = json::parse(run.out);
  CHECK(row["status"] == "optimal");
  CHECK(row["initiation_interval"] == 2);
  CHECK(row["length"] == 4);
  CHECK(row["lower_bound"]["initiation_interval"] == 2);
  CHECK(row["bounds"][0]["value"] == 2);
  CHECK(row["problem_sha256"].get<std::string>().size() == 64);
  for (const char* key : {"variables", "clauses", "conflicts", "solve_seconds"}) {
    CHECK(row[key].get<double>() >= 0);
  }
}

TEST_CASE("ask: each side of the optimum, in each form") {
  const struct {
    const char* question;
    const char* verdict;
    int code;
  } cases[] = {{"--ii 2 --length 4", "sat", 0},
               {"--ii 3 --length 4", "sat", 0},
               {"--ii 2 --length 3", "unsat", 1},
               {"--ii 1 --length 4", "unsat", 1}};
  for (const auto& expected : cases) {
    for (const char* form : {"modulo", "straight-line", "straight-line-literal"}) {
      CAPTURE(expected.question);
      CAPTURE(form);
      const Run run =
          bench("ask " + kFigure + " " + expected.question + " --encoding form=" + form);
      CHECK(run.code == expected.code);
      CHECK(json::parse(run.out)["verdict"] == expected.verdict);
    }
  }
  CHECK(bench("ask " + kFigure + " --ii 0 --length 4").code == 2);
}

TEST_CASE("ask --smtlib writes the question and decides nothing") {
  const twill::test::TemporaryDirectory folder;
  const Run run = bench("ask " + kFigure + " --ii 2 --length 4 --smtlib " + (folder / "q.smt2"));
  CHECK(run.code == 0);
  CHECK(run.out.empty());
  CHECK(bytes(folder / "q.smt2").ends_with("(check-sat)\n"));
}

TEST_CASE("attention: a row a layout as JSON, and the tables") {
  const Run json_run = bench("attention --kernel figure-1 --normalize none --json");
  CHECK(json_run.code == 0);
  const std::vector<json> found = rows(json_run.out);
  REQUIRE(found.size() == 2);
  CHECK(found[1]["bench"] == "solve");
  CHECK(found[1]["initiation_interval"] == 2);
  CHECK(found[0]["kernel"] == "figure-1");
  CHECK(found[0]["machine"] == "figure-1");
  CHECK(found[0]["initiation_interval"] == 2);
  CHECK(found[0]["wall_seconds"].get<double>() > 0);
  CHECK(found[0]["cpu_seconds"].get<double>() > 0);
  CHECK(found[0]["peak_bytes"].get<double>() > 1e6);

  const Run table = bench("attention --kernel figure-1 --normalize none");
  CHECK(table.code == 0);
  CHECK(contains(table.out, "| graph "));
  CHECK(contains(table.out, "| optimal "));
  CHECK(contains(table.out, "| target met |"));

  // A limit is a graph's, shared by its layouts; those that get no time are rows all the same.
  const Run limited =
      bench("attention --kernel hopper-fwd-sub2 --normalize none --json --time-limit 0.001");
  CHECK(limited.code == 3);
  const std::vector<json> stopped = rows(limited.out);
  CHECK(stopped.size() > 1);
  for (const json& row : stopped) {
    CAPTURE(row.dump());
    if (row["bench"] == "attention") CHECK(row["stopped_by"] == "time limit");
  }

  CHECK(bench("attention --kernel nosuch --machine hopper").code == 2);
  CHECK(bench("attention --machine nosuch").code == 2);
}

TEST_CASE("peers that are not on the PATH are skipped with a word") {
  const std::string arguments = "peers --kernel " + kFigure + " --normalize none";
  const Run table = bench(arguments, "/nonexistent");
  CHECK(table.code == 0);
  CHECK(contains(table.out, "not found"));
  CHECK(contains(table.err, "yices-smt2: not found, skipped"));
  CHECK(contains(table.err, "z3: not found, skipped"));
  CHECK(contains(table.err, "cp-sat: not found, skipped"));

  const std::vector<json> found = rows(bench(arguments + " --quiet --json", "/nonexistent").out);
  REQUIRE(found.size() == 2);
  CHECK(found[0]["question"] == "optimum");
  CHECK(found[0]["answer"] == "sat");
  CHECK(found[1]["question"] == "ii-1");
  CHECK(found[1]["answer"] == "unsat");
  for (const json& row : found) {
    CHECK(row["peers"].empty());
    CHECK(row["ratio"] == "-");
  }
}

TEST_CASE("the peer that reads problem files gets the file, I and L") {
  const twill::test::TemporaryDirectory folder;
  script(folder / "python3",
         "[ \"$2\" = --version ] && { echo 'CP-SAT 0'; exit; }\n"
         "grep -q figure-1 \"$2\" && [ \"$3 $4\" = '2 4' ] && echo sat || echo unsat\n");
  const std::string path = std::string(folder / "") + ":/usr/bin:/bin";
  const std::string ask = "peers --kernel " + kFigure + " --normalize none --json --form both";
  const Run run = bench(ask, path.c_str());
  CHECK(run.code == 0);
  const std::vector<json> found = rows(run.out);
  REQUIRE(found.size() == 4);
  for (const json& row : found) {
    CAPTURE(row.dump());
    const auto answer = std::find_if(row["peers"].begin(), row["peers"].end(),
                                     [](const json& p) { return p["solver"] == "cp-sat"; });
    REQUIRE((answer == row["peers"].end()) == (row["form"] == "literal"));
    if (answer == row["peers"].end()) continue;
    CHECK((*answer)["version"] == "CP-SAT 0");
    CHECK((*answer)["verdict"] == (row["question"] == "optimum" ? "sat" : "unsat"));
  }
}

TEST_CASE("peers that answer, disagree, fail or run too long") {
  const twill::test::TemporaryDirectory folder;
  const std::string path = std::string(folder / "") + ":/usr/bin:/bin";
  script(folder / "yices-smt2", "[ \"$1\" = --version ] && echo 'Yices 0' || echo sat\n");
  script(folder / "z3", "[ \"$1\" = --version ] && echo 'Z3 0' || { echo oops >&2; exit 3; }\n");
  script(folder / "python3", "exit 1\n");  // without CP-SAT
  const std::string ask = "peers --kernel " + kFigure + " --normalize none --json";
  const std::string arguments = ask + " --limit 30", hasty = ask + " --limit 2";
  const Run agreed = bench(arguments + " --question optimum", path.c_str());
  CHECK(agreed.code == 0);
  const json row = json::parse(agreed.out);
  CHECK(row["agree"] == true);
  REQUIRE(row["peers"].size() == 2);
  CHECK(row["peers"][0]["version"] == "Yices 0");
  CHECK(row["peers"][0]["verdict"] == "sat");
  CHECK(row["peers"][1]["verdict"] == "failed: oops");
  CHECK(row["text_bytes"].get<double>() > 0);

  const Run wrong = bench(arguments + " --question length-1", path.c_str());
  CHECK(wrong.code == 4);
  CHECK(json::parse(wrong.out)["agree"] == false);
  CHECK(contains(wrong.err, "disagree"));

  script(folder / "yices-smt2", "[ \"$1\" = --version ] || while :; do :; done\n");
  const Run slow = bench(hasty + " --question optimum", path.c_str());
  CHECK(slow.code == 0);
  const json late = json::parse(slow.out);
  REQUIRE(late["peers"].size() == 2);
  CHECK(late["peers"][0]["verdict"] == "limit");
  CHECK(late["peers"][0]["cpu_seconds"].get<double>() >= 0.9);
  CHECK(late["ratio"].get<std::string>().starts_with("> "));

  // Yices catches the signal of the limit and exits.
  script(folder / "yices-smt2",
         "[ \"$1\" = --version ] || { trap 'exit 21' XCPU; while :; do :; done; }\n");
  const Run caught = bench(hasty + " --question optimum", path.c_str());
  CHECK(caught.code == 0);
  const json signalled = json::parse(caught.out);
  REQUIRE(signalled["peers"].size() == 2);
  CHECK(signalled["peers"][0]["verdict"] == "limit");
}

#else

TEST_CASE("the program was built without twill bench" * doctest::skip()) {}

#endif
