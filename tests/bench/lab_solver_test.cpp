// The encodings laboratory: other solvers in the same rows, above all such that lie.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/lab.hpp"

namespace lab_solver_test {

#ifdef TWILL_PROGRAM

using namespace twill::test;
using nlohmann::json;

namespace {

/// A script that is a solver: $1 is the question's file.
std::string script(const TemporaryDirectory& folder, const std::string& name,
                   const std::string& body) {
  std::string path = folder / name;
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

struct Asked {
  json row;  ///< of figure-4, which has a schedule, or figure-3, which has none
  int code = 0;
  double seconds = 0;
};

/// One row of one solver that is `body`, asked with `arguments` behind its path.
Asked ask(const TemporaryDirectory& folder, const std::string& body, bool satisfiable,
          const std::string& arguments = "", const std::string& options = "", bool known = true) {
  write_questions(folder / "");
  std::vector<json> list = lines(bytes(folder / "instances.jsonl"));
  list = {list[satisfiable ? 0 : 1]};
  if (!known) list[0]["expected"] = "";
  write_lines(folder / "instances.jsonl", list);
  const std::string rows = folder / "rows.jsonl";
  std::filesystem::remove(rows);
  const auto begin = std::chrono::steady_clock::now();
  const Run run =
      bench("run --quiet -j 1 -o '" + rows + "' --encodings start=order --others-only" +
            (contains(options, "--limit-cpu") ? "" : " --limit-cpu 5") + " --instances '" +
            (folder / "") + "' " + options + " --solver 'fake=" + script(folder, "solver", body) +
            " " + arguments + "'");
  Asked asked;
  asked.code = run.code;
  asked.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::vector<json> all = lines(bytes(rows));
  REQUIRE_MESSAGE(all.size() == 1, run.err);
  asked.row = all[0];
  return asked;
}

}  // namespace

TEST_CASE("a solver that lies is told in its row and never believed") {
  const TemporaryDirectory folder;
  struct Lie {
    std::string body, status, error;
    bool satisfiable;
  };
  const Lie lies[] = {
      {"echo 's SATISFIABLE'; echo 'v 0'; exit 10", "WRONG", "no value of", true},
      {"echo 's SATISFIABLE'; echo 'v 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0'; exit 10", "WRONG", "",
       false},
      {"echo 's UNSATISFIABLE'; exit 20", "WRONG", "has a schedule", true},
      {"echo 's SATISFIABLE'; echo 'v 1 frog 0'", "ERROR", "must be a literal", true},
      {"echo 's SATISFIABLE'; echo 's UNSATISFIABLE'", "ERROR", "contradict", true},
      {"echo 's UNSATISFIABLE'; exit 10", "ERROR", "ends with 10", false},
      {"echo 's SATISFIABLE'; exit 20", "ERROR", "ends with 20", true},
      {"head -c 100000 /dev/urandom", "ERROR", "no answer", true},
      {"printf 's \\237 bytes\\n'", "ERROR", "must say SATISFIABLE", true},
      {"echo 's'", "ERROR", "no answer", true},
      {"echo 's UNSUPPORTED'", "UNKNOWN", "", true},
      {"exit 0", "ERROR", "no answer, exit code 0", true},
      {"echo 'out of luck' >&2; exit 3", "ERROR", "out of luck", true},
      {"kill -SEGV $$", "ERROR", "signal 11", true},
      {"echo 's UNKNOWN'", "UNKNOWN", "", true},
  };
  for (const Lie& lie : lies) {
    CAPTURE(lie.body);
    const Asked asked = ask(folder, lie.body, lie.satisfiable);
    CHECK(asked.row["status"] == lie.status);
    CHECK(asked.row["verified"] != "model");
    CHECK(contains(asked.row.value("error", ""), lie.error));
    CHECK(asked.row["solver"] == "fake");
    CHECK(asked.code == (lie.status == "UNKNOWN" ? 0 : 1));
  }
}

TEST_CASE("a solver without an end is ended, with all that it started") {
  const TemporaryDirectory folder;
  // Output without end, a deaf child, a child that only waits, work done by a child's child.
  Asked asked = ask(folder, "while :; do echo 'c and so on'; done", true, "", "--limit-cpu 3");
  CHECK((asked.row["status"] == "ERROR" || asked.row["status"] == "TIMEOUT"));
  asked = ask(folder, "yes 'c and so on, at length'", true, "", "--limit-cpu 30");
  CHECK(asked.row["status"] == "ERROR");
  CHECK(contains(asked.row["error"], "more than the limit"));
  asked = ask(folder, "trap '' TERM INT HUP; while :; do :; done", true, "", "--limit-cpu 0.5");
  CHECK(asked.row["status"] == "TIMEOUT");
  CHECK(asked.seconds < 20);
  asked = ask(folder, "trap '' TERM; while :; do sleep 0.1; done", true, "", "--wall-limit 1");
  CHECK(asked.row["status"] == "TIMEOUT");
  CHECK(asked.seconds < 20);
  asked = ask(folder, "sh -c 'while :; do :; done'; exit 0", true, "", "--limit-cpu 1");
  CHECK(asked.row["status"] == "TIMEOUT");
  CHECK(asked.row["cpu_s"] < 2);
  // What leaves the group and keeps the output open is not waited for.
  asked = ask(folder, "setsid sleep 30 & echo 's UNKNOWN'", true);
  CHECK(asked.row["status"] == "UNKNOWN");
  CHECK(asked.seconds < 15);
}

TEST_CASE("an answer is judged: the model, the proof, and what another row proves") {
  const TemporaryDirectory folder;
  // The formula's own map says which literals are a schedule: start S 0, P 2, O 3 at I = 2.
  ask(folder, "cp \"$1\" '" + (folder / "question.cnf") + "'; echo 's UNKNOWN'", true);
  const std::string question = bytes(folder / "question.cnf");
  CHECK(contains(question, "c map ii 2"));
  CHECK(contains(question, "expected unknown"));  // the answer is not told

  SUBCASE("a refutation is believed with its proof alone") {
    // One cycle less is refuted by units, or not at all by an empty proof; a proof of nothing.
    Asked asked = ask(folder, "echo '1 0' >\"$2\"; echo 's UNSATISFIABLE'; exit 20", true,
                      "{cnf} {proof}", "", false);
    CHECK(asked.row["status"] == "WRONG");
    CHECK(asked.row["verified"] == "refused");
    CHECK(contains(asked.row["error"], "the proof"));
    asked = ask(folder, "echo 's UNSATISFIABLE'; exit 20", true, "{cnf} {proof}", "", false);
    CHECK(asked.row["status"] == "WRONG");
    CHECK(contains(asked.row["error"], "wrote none"));
    const std::string prove =
        "'" TWILL_PROGRAM "' bench trial '" + (folder / "figure.problem.json") +
        "' --ii 2 --length 3 --encoding start=order --proof \"$2\" >/dev/null; "
        "echo 's UNSATISFIABLE'; exit 20";
    asked = ask(folder, prove, false, "{cnf} {proof}", "", false);
    CHECK_MESSAGE(asked.row["status"] == "UNSAT", asked.row.dump());
    CHECK(asked.row["verified"] == "drat");
    CHECK(asked.code == 0);
  }
  SUBCASE("UNSAT without proof is taken back by another row's schedule") {
    write_questions(folder / "");
    std::vector<json> list = lines(bytes(folder / "instances.jsonl"));
    list = {list[0]};
    list[0]["expected"] = "";
    write_lines(folder / "instances.jsonl", list);
    const std::string rows = folder / "both.jsonl";
    const std::string liar = script(folder, "liar", "echo 's UNSATISFIABLE'");
    const Run run = bench("run --quiet -o '" + rows + "' --encodings start=order --instances '" +
                          (folder / "") + "' --solver liar=" + liar);
    CHECK(run.code == 1);
    CHECK(contains(run.err, "DISAGREEMENT"));
    const Run report = bench("report '" + rows + "'");
    CHECK(contains(report.out, "liar: start=order"));
    const Run check = bench("check '" + rows + "' --instances '" + (folder / "") + "'");
    CHECK(contains(check.out, "1 models verified, 0 refutations"));
  }
}

TEST_CASE("solvers of every format take part, and the judge has the last word") {
  const TemporaryDirectory folder;
  // In sat questions of SMT-LIB the values are asked for by name.
  Asked asked = ask(folder,
                    "grep -q get-value \"$1\" && echo sat && echo '((op_0_0_0 true) (op_1_0_2 true)"
                    " (op_2_0_3 true) (opw_0_0 true) (opw_1_0 true) (opw_2_0 true))'",
                    true, "{smt2}");
  CHECK(asked.row["encoding"] == "smtlib");
  CHECK(asked.row["format"] == "smtlib");
  CHECK_MESSAGE(asked.row["status"] == "SAT", asked.row.dump());
  CHECK(asked.row["verified"] == "model");
  CHECK(asked.row["schedule"]["start"] == json({0, 2, 3}));
  asked = ask(folder, "echo sat; echo '((op_0_0_0 true) (op_1_0_0 true) (op_2_0_3 true))'", true,
              "{smt2}");
  CHECK(asked.row["status"] == "WRONG");
  asked = ask(folder, "echo unsat; echo '(error \"no model\")'; exit 1", false, "{smt2}");
  CHECK(asked.row["status"] == "UNSAT");
  asked = ask(folder,
              "grep -q '^Binary' \"$1\" && echo 'Infeasible - objective value 0' >\"$2\"; "
              "echo '** 0 x1 0.5 0' >>\"$2\"",
              false, "{ilp} {model}");
  CHECK_MESSAGE(asked.row["status"] == "UNSAT", asked.row.dump());
  asked = ask(folder, "echo 'Optimal - objective value 0' >\"$2\"; echo ' 0 x1 0.5 0' >>\"$2\"",
              true, "{ilp} {model}");
  CHECK(asked.row["status"] == "ERROR");
  CHECK(contains(asked.row["error"], "the value 0 or 1"));
  // CBC refuses a program with a variable twice in a row, as found with clauses of the order
  // encoding; a variable that is not declared it takes for an unbounded number.
  ask(folder, "cp \"$1\" '" + (folder / "q.lp") + "'", true, "{ilp}");
  std::istringstream program(bytes(folder / "q.lp"));
  bool inside = false, declared = false;
  for (std::string line; std::getline(program, line);) {
    if (line == "Subject To") inside = true;
    if (line == "Binary") inside = false;
    declared = declared || line == " x1";
    std::istringstream words(inside ? line : "");
    std::set<std::string> seen;
    for (std::string word; words >> word;)
      if (word.front() == 'x') CHECK_MESSAGE(seen.insert(word).second, line);
  }
  CHECK(declared);
  asked = ask(folder, "grep -q '#variable' \"$1\" && echo 's UNSATISFIABLE'", false, "{opb}");
  CHECK(asked.row["status"] == "UNSAT");
}

TEST_CASE("a solver that reads the problem itself: I and L are told, its schedule is judged") {
  const TemporaryDirectory folder;
  const auto schedule = [](int s, int p, int o, const std::string& more = "") {
    const auto op = [](const char* id, int start) {
      return R"({"id":")" + std::string(id) + R"(","start":)" + std::to_string(start) +
             R"(,"warp":"w0"})";
    };
    return "echo sat; echo '{\"initiation_interval\":'\"$2\"',\"ops\":[" + op("S", s) + "," +
           op("P", p) + "," + op("O", o) + "]" + more + "}'";
  };
  const std::string words = "{problem} {ii} {length}";
  Asked asked = ask(folder, "grep -q twill.problem \"$1\" && [ $3 = 4 ] && " + schedule(0, 2, 3),
                    true, words);
  CHECK_MESSAGE(asked.row["status"] == "SAT", asked.row.dump());
  CHECK(asked.row["verified"] == "model");
  CHECK(asked.row["encoding"] == "problem");
  CHECK(asked.row["format"] == "problem");
  CHECK(asked.row["schedule"]["start"] == json({0, 2, 3}));
  CHECK(asked.row["encoder"] == json::object());
  asked = ask(folder, schedule(0, 1, 2), true, words);  // two products at once
  CHECK(asked.row["status"] == "WRONG");
  CHECK(asked.row["verified"] == "refused");
  asked = ask(folder, schedule(0, 2, 5), true, words);  // too long
  CHECK(asked.row["status"] == "WRONG");
  asked = ask(folder, "echo unsat", false, words);
  CHECK(asked.row["status"] == "UNSAT");
  CHECK(asked.row["verified"] == "none");
  asked = ask(folder, "echo unknown", false, words);
  CHECK(asked.row["status"] == "UNKNOWN");
  const std::string good = schedule(0, 2, 3);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string other = good;
    const std::size_t at = other.find(from);
    REQUIRE(at != std::string::npos);
    return other.replace(at, from.size(), to);
  };
  for (const std::string& bad :
       {std::string("echo sat"), std::string("echo sat; echo '{}'"), replaced("w0", "w7"),
        replaced(R"("P")", R"("Q")"), replaced(R"("start":2)", R"("start":-2)"),
        replaced(R"(,"start":2)", ""), replaced(R"("ops")", R"("op")"), std::string("exit 3")}) {
    CAPTURE(bad);
    asked = ask(folder, bad, true, words);
    CHECK(asked.row["status"] == "ERROR");
  }
}

TEST_CASE("--solver that cannot be meant is refused") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  const std::string common =
      "run --quiet -o '" + (folder / "rows") + "' --instances '" + (folder / "") + "' --solver ";
  for (const char* bad :
       {"sh", "=sh", "'a b=sh'", "cadical=sh", "'x= '", "'x=sh {frog}'", "'x=sh {cnf} {opb}'",
        "'x=sh {opb} {proof}'", "'x=sh {problem}'", "'x=sh {cnf} {ii} {length}'",
        "'x=sh {problem} {ii}'", "x=/nonexistent/solver", "x=no-such-solver-anywhere",
        "\"x=sh 'a\"", "a=sh --solver a=sh"}) {
    CAPTURE(bad);
    const Run run = bench(common + bad);
    CHECK(run.code == 2);
    CHECK(contains(run.err, "--solver"));
    std::filesystem::remove(folder / "rows");
  }
}

#endif

}  // namespace lab_solver_test
