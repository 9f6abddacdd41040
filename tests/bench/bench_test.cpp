// `twill bench` as a user runs it, on the running example of the Twill paper.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace bench_test {

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

/// A script's part that prints a schedule of the running example as a peer does.
std::string model(const std::string& start_of_last, const std::string& slot = "w0") {
  return "echo sat\necho '{\"ops\": [{\"id\": \"S\", \"start\": 0, \"warp\": \"w0\"}, {\"id\": "
         "\"P\", \"start\": 1, \"warp\": \"w0\"}, {\"id\": \"O\", \"start\": " +
         start_of_last + ", \"warp\": \"" + slot + "\"}]}'\n";
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

TEST_CASE("ttgir: a module as it is, and with its loop's body repeated") {
  const std::string file =
      TWILL_TEST_DATA "/../../graph/kernels/triton/blackwell-attention-forward.ttgir";
  const Run once = bench("ttgir " + file + " --rounds 1 --json");
  CHECK(once.code == 0);
  const json row = json::parse(once.out);
  CHECK(row["ops"] == 28);
  CHECK(row["read_and_lower_cpu_ms"].get<double>() >= 0);
  const json longer = json::parse(bench("ttgir " + file + " --rounds 1 --json --lines 600").out);
  CHECK(longer["lines"].get<int>() >= 600);
  CHECK(longer["ops"].get<int>() > 10 * 28);
  CHECK(bench("ttgir /nonexistent").code == 2);
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
  CHECK(found[1]["threads"] == 1);
  CHECK(found[1]["seed"] == 0);
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
  CHECK(contains(table.err, "cbc: not found, skipped"));

  const std::vector<json> found = rows(bench(arguments + " --quiet --json", "/nonexistent").out);
  REQUIRE(found.size() == 3);
  CHECK(found[0]["question"] == "optimum");
  CHECK(found[0]["answer"] == "sat");
  CHECK(found[1]["question"] == "ii-1");
  CHECK(found[1]["answer"] == "unsat");
  CHECK(found[2]["question"] == "modulo");
  CHECK(found[2]["answer"] == "optimal 4");
  for (const json& row : found) {
    CHECK(row["peers"].empty());
    CHECK(row["ratio"] == "-");
  }
}

TEST_CASE("the peer that reads problem files gets the file, I and L") {
  const twill::test::TemporaryDirectory folder;
  script(folder / "python3",
         "[ \"$2\" = --version ] && { echo 'CP-SAT 0'; exit; }\n"
         "grep -q figure-1 \"$2\" && [ \"$3 $4\" = '2 4' ] || { echo unsat; exit; }\n" +
             model("3"));
  const std::string path = std::string(folder / "") + ":/usr/bin:/bin";
  const std::string ask = "peers --kernel " + kFigure +
                          " --normalize none --json --form both --question optimum --question ii-1";
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
    CHECK(answer->value("verified", "none") == (row["question"] == "optimum" ? "model" : "none"));
  }
}

TEST_CASE("a schedule that a peer prints is put before the judge") {
  const twill::test::TemporaryDirectory folder;
  const std::string path = std::string(folder / "") + ":/usr/bin:/bin";
  const struct {
    const char* name;
    std::string says;
    const char* refusal;
  } cases[] = {{"before what it depends on", model("1"), "dependence"},
               {"longer than asked", model("5"), "length 6 > 4"},
               {"a slot that is none", model("3", "w9"), "warp uniqueness"},
               {"an op too few", "echo sat; echo '{\"ops\": []}'\n", "no schedule of every op"},
               {"nothing", "echo sat\n", "no schedule of every op"}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    script(folder / "python3", "[ \"$2\" = --version ] && { echo CP-SAT 0; exit; }\n" + c.says);
    const Run run =
        bench("peers --kernel " + kFigure + " --normalize none --json --quiet --question optimum",
              path.c_str());
    CHECK(run.code == 4);
    const json row = json::parse(run.out);
    bool seen = false;
    for (const json& peer : row["peers"]) {
      if (peer["solver"] != "cp-sat") continue;
      seen = true;
      CHECK(peer["verified"] == "refused");
      CHECK(contains(peer["refusal"].get<std::string>(), c.refusal));
    }
    CHECK(seen);
    CHECK(contains(run.err, c.refusal));
    // It is nobody's time, and no answer.
    CHECK(row["answer"] == "sat");
  }
}

TEST_CASE("the linear program: CBC's answer is compared with the branch and bound's") {
  const twill::test::TemporaryDirectory folder;
  const std::string path = std::string(folder / "") + ":/usr/bin:/bin";
  const auto cbc = [&](const std::string& says) {
    script(folder / "cbc",
           "[ \"$1\" = -quit ] && { echo Welcome; echo 'Version: 2.10.8'; exit; }\n"
           "grep -q '^Minimize' \"$1\" || exit 3\n" +
               says);
  };
  const std::string ask =
      "peers --kernel " + kFigure + " --normalize none --json --quiet --question modulo";
  cbc("echo 'Result - Optimal solution found'; echo; echo 'Objective value:    4.00000000'\n");
  const Run agreed = bench(ask, path.c_str());
  CHECK_MESSAGE(agreed.code == 0, agreed.err);
  const json row = json::parse(agreed.out);
  CHECK(row["form"] == "modulo");
  CHECK(row["answer"] == "optimal 4");
  REQUIRE(row["peers"].size() == 1);
  CHECK(row["peers"][0]["solver"] == "cbc");
  CHECK(row["peers"][0]["version"] == "CBC 2.10.8");
  CHECK(row["peers"][0]["verdict"] == "optimal 4");

  cbc("echo 'Result - Optimal solution found'; echo; echo 'Objective value:    5.00000000'\n");
  CHECK(bench(ask, path.c_str()).code == 4);
  cbc("echo 'Result - Problem proven infeasible'\n");
  CHECK(bench(ask, path.c_str()).code == 4);
  cbc("echo 'Result - Stopped on time limit'; echo 'Objective value:    9.00000000'\n");
  const Run stopped = bench(ask, path.c_str());
  CHECK(stopped.code == 0);
  CHECK(json::parse(stopped.out)["peers"][0]["verdict"] == "limit");
}

TEST_CASE("CBC itself agrees with the branch and bound" *
          doctest::skip(!std::filesystem::exists("/usr/bin/cbc"))) {
  const Run run = bench(
      "peers --kernel hopper-fwd-plain --normalize 16 --json --quiet --question modulo --limit 60",
      "/usr/bin:/bin");
  CHECK_MESSAGE(run.code == 0, run.err);
  const json row = json::parse(run.out);
  REQUIRE(row["peers"].size() == 1);
  CHECK(row["peers"][0]["verdict"] == row["twill"]["verdict"]);
  CHECK(row["agree"] == true);
}

TEST_CASE("ask --modulo and --lp") {
  const twill::test::TemporaryDirectory folder;
  const Run run = bench("ask " + kFigure + " --ii 2 --modulo");
  CHECK(run.code == 0);
  CHECK(json::parse(run.out)["length"] == 4);
  // One op of the tensor core more than I = 1 can hold.
  const Run none = bench("ask " + kFigure + " --ii 1 --modulo");
  CHECK(none.code == 1);
  CHECK(json::parse(none.out)["verdict"] == "unsat");
  CHECK(bench("ask " + kFigure + " --ii 2 --lp " + (folder / "q.lp")).code == 0);
  CHECK(bytes(folder / "q.lp").ends_with("End\n"));
  CHECK(bench("ask " + kFigure + " --ii 2").code == 2);
  CHECK(bench("ask " + kFigure + " --ii 2 --modulo --length 4").code == 2);
}

TEST_CASE("scaling: rows, medians and exponents that follow from them; unsolved runs are counted") {
  const twill::test::TemporaryDirectory folder;
  const std::string out = folder / "report";
  const Run run =
      bench("scaling --ops 4,8,12 --scale 1,64 --scale-ops 6 --seeds 3 --json -o '" + out + "'");
  CHECK_MESSAGE(run.code == 0, run.err);
  const std::vector<json> all = rows(run.out);
  REQUIRE(all.size() == 9 + 6 + 2);
  for (const json& fit : all) {
    if (fit["bench"] != "scaling-fit") continue;
    // Least squares over the medians of the rows, computed here anew.
    std::vector<std::pair<double, double>> points;
    for (const json& point : fit["points"]) {
      std::vector<double> cpu;
      for (const json& row : all)
        if (row["bench"] == "scaling" && row["sweep"] == fit["sweep"] && row["x"] == point["x"]) {
          CHECK((row["status"] == "optimal" || row["status"] == "infeasible"));
          CHECK(row["solver_seed"] == 0);
          cpu.push_back(row["solve_cpu_seconds"].get<double>());
        }
      REQUIRE(cpu.size() == 3);
      std::sort(cpu.begin(), cpu.end());
      CHECK(point["median_cpu_s"] == cpu[1]);
      CHECK(point["solved"] == 3);
      points.emplace_back(std::log(point["x"].get<double>()), std::log(std::max(cpu[1], 1e-4)));
    }
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [a, b] : points) n += 1, x += a, y += b, xx += a * a, xy += a * b;
    const double slope = (n * xy - x * y) / (n * xx - x * x);
    CHECK(fit["cpu_fit"]["exponent"].get<double>() == doctest::Approx(slope));
  }
  // Times 64: the same loop, 64 times the optimum.
  std::map<int, std::int64_t> coarse;
  int compared = 0;
  for (const json& row : all) {
    if (row["bench"] != "scaling" || row["sweep"] != "scale") continue;
    const int seed = row["seed"].get<int>();
    const std::int64_t ii = row.value("initiation_interval", std::int64_t{-1});
    if (row["x"] == 1) coarse[seed] = ii;
    if (row["x"] != 64) continue;
    CHECK(ii == (coarse[seed] < 0 ? -1 : 64 * coarse[seed]));
    compared += ii > 0;
  }
  CHECK(compared > 0);
  const std::string page = bytes(out + "/index.html");
  CHECK(contains(page, "<svg"));
  CHECK_FALSE(contains(page, "src="));
  CHECK_FALSE(contains(page, "href="));
  CHECK(contains(bytes(out + "/ops.svg"), "median ~ x^"));
  CHECK(rows(bytes(out + "/rows.jsonl")).size() == 15);

  const Run limited = bench("scaling --sweep ops --ops 60,90 --seeds 2 --json --time-limit 0.001");
  CHECK(limited.code == 3);
  const std::vector<json> cut = rows(limited.out);
  REQUIRE(cut.size() == 5);
  CHECK(cut[4]["cpu_fit"].is_null());
  for (const json& point : cut[4]["points"]) {
    CHECK(point["runs"] == 2);
    CHECK(point["solved"] == 0);
    CHECK(point["median_cpu_s"].is_null());
  }
  const Run table = bench("scaling --sweep ops --ops 60 --seeds 2 --quiet --time-limit 0.001");
  CHECK(contains(table.out, "unsolved"));
  CHECK(contains(table.out, "0/2"));
  CHECK(bench("scaling --ops 0").code == 2);
}

TEST_CASE("peers that answer, disagree, fail or run too long") {
  const twill::test::TemporaryDirectory folder;
  const std::string path = std::string(folder / "") + ":/usr/bin:/bin";
  script(folder / "yices-smt2", "[ \"$1\" = --version ] && echo 'Yices 0' || echo sat\n");
  script(folder / "z3", "[ \"$1\" = --version ] && echo 'Z3 0' || { echo oops >&2; exit 3; }\n");
  script(folder / "python3", "exit 1\n");  // without CP-SAT
  script(folder / "cbc", "exit 1\n");
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

  // Yices catches the request to end and exits by itself.
  script(folder / "yices-smt2",
         "[ \"$1\" = --version ] || { trap 'exit 21' TERM; while :; do :; done; }\n");
  const Run caught = bench(hasty + " --question optimum", path.c_str());
  CHECK(caught.code == 0);
  const json signalled = json::parse(caught.out);
  REQUIRE(signalled["peers"].size() == 2);
  CHECK(signalled["peers"][0]["verdict"] == "limit");
}

TEST_CASE("modules: loops of a module sub-tiled and unrolled, with curves") {
  const twill::test::TemporaryDirectory folder;
  const std::string module =
      TWILL_TEST_DATA "/../../graph/kernels/triton/ampere-gemm-pointers.ttgir";
  const std::string curves = folder / "curves.csv";
  const Run run =
      bench("modules --json --no-peers --subtiles 1,2,4 --unrolls 1,2 --cpu-limit 60 '" + module +
            "' --curves '" + curves + "'");
  CHECK_MESSAGE(run.code == 0, run.err);
  CHECK(contains(run.err, "ampere-gemm-pointers+subtile4: left out: "));
  const std::vector<json> all = rows(run.out);
  REQUIRE(all.size() == 4);
  std::map<std::string, json> by_name;
  for (const json& row : all) {
    const json& twill = row["twill"];
    CHECK(twill["status"] == "optimal");
    by_name[row["loop"]] = twill;
    json before = {0.0, 0, 0, 0, 0};
    for (const json& point : twill["curve"]) {
      REQUIRE(point.size() == 5);
      CHECK(point[0].get<double>() >= before[0].get<double>());
      CHECK(point[1].get<int>() >= before[1].get<int>());  // bounds rise, I falls
      if (before[2].get<int>() > 0) CHECK(point[2].get<int>() <= before[2].get<int>());
      before = point;
    }
    CHECK(before[1] == twill["initiation_interval"]);
    CHECK(before[2] == twill["initiation_interval"]);
    CHECK(before[3] == twill["length"]);
    CHECK(before[4] == twill["length"]);
  }
  const auto ii = [&](const char* name) {
    return by_name.at(name)["initiation_interval"].get<int>();
  };
  CHECK(ii("ampere-gemm-pointers+x2") <= 2 * ii("ampere-gemm-pointers"));
  CHECK(ii("ampere-gemm-pointers+subtile2+x2") <= 2 * ii("ampere-gemm-pointers+subtile2"));
  std::istringstream csv(bytes(curves));
  std::string line;
  std::getline(csv, line);
  CHECK(line == "loop,solver,cpu_s,ii_bound,ii_found,length_bound,length_found,none");
  std::getline(csv, line);
  CHECK(line.starts_with("ampere-gemm-pointers,twill,"));
}

TEST_CASE("modules: a file that is not there is an error") {
  const Run run = bench("modules --no-peers nowhere.ttgir");
  CHECK(run.code == 2);
  CHECK(contains(run.err, "nowhere.ttgir: must be a file or a folder that exists"));
}

TEST_CASE("modules: a peer that contradicts, or whose schedule is refused") {
  const twill::test::TemporaryDirectory folder;
  const std::string module =
      TWILL_TEST_DATA "/../../graph/kernels/triton/ampere-gemm-pointers.ttgir";
  const auto with = [&](const std::string& lines) {
    script(folder / "python3",
           "case \"$2\" in --version) echo A peer 1;; *) " + lines + ";; esac\n");
    return bench("modules --subtiles 1 --unrolls 1 --peer-threads 1 '" + module + "'",
                 (std::string(folder / "") + ":/usr/bin:/bin").c_str());
  };
  const std::string end =
      "echo '{\"cpu\": 1, \"ii\": [641, 0], \"length\": [0, 0], \"end\": true}'";
  const Run agrees = with("echo '{\"within\": 9000}'; " + end);
  CHECK_MESSAGE(agrees.code == 0, agrees.err);
  CHECK(contains(agrees.out, "641.."));
  const Run above = with(
      "echo '{\"within\": 9000}'; echo '{\"cpu\": 1, \"ii\": [642, 0], "
      "\"length\": [0, 0], \"end\": true}'");
  CHECK(above.code == 4);
  CHECK(contains(above.err, "cp-sat says I >= 642, twill has I = 641"));
  const Run refused = with(
      "echo '{\"within\": 9000}'; echo '{\"cpu\": 1, \"ii\": [512, 512], "
      "\"length\": [0, 9], \"ops\": [], \"end\": true}'");
  CHECK(refused.code == 4);
  CHECK(contains(refused.err, "its schedule is refused: no schedule of every op"));
  const Run silent = with("echo something >&2; exit 1");
  CHECK(silent.code == 0);
  CHECK(contains(silent.err, "cp-sat: something"));
}

TEST_CASE("iterations: where the best schedule changes") {
  const twill::test::TemporaryDirectory folder;
  const std::string loop = folder / "fill.problem.json", curve = folder / "curve.svg";
  // At I = 6 the unit has room for c only at cycle 9, from I = 8 on at cycle 5: 8 (N - 1) + 8
  // cycles against 6 (N - 1) + 12.
  std::ofstream(loop) << R"({
    "format": "twill.problem", "version": 1, "name": "fill",
    "units": {"A": 1}, "memories": {},
    "warps": [{"name": "w0", "width": 1, "registers": 100}],
    "ops": [{"id": "a", "cycles": 3, "reservation": {"A": [[0, 3, 1]]}},
            {"id": "b", "cycles": 2},
            {"id": "c", "cycles": 3, "reservation": {"A": [[0, 3, 1]]}}],
    "edges": [{"from": "a", "to": "b", "delay": 3, "distance": 0},
              {"from": "b", "to": "c", "delay": 2, "distance": 0}]})";
  const Run run = bench("iterations --json --most 10 -o '" + curve + "' '" + loop + "'");
  REQUIRE(run.code == 0);
  const json row = rows(run.out).front();
  REQUIRE(row["pieces"].size() == 2);
  CHECK(row["pieces"][0]["to"] == 2);
  CHECK(row["pieces"][0]["initiation_interval"] == 8);
  CHECK(row["pieces"][0]["cycles"] == 8);
  CHECK(row["pieces"][0]["cycles_with_smallest_interval"] == 12);
  CHECK(row["pieces"][1]["from"] == 3);
  CHECK(row["pieces"][1]["initiation_interval"] == 6);
  CHECK(contains(bytes(curve), "I 6, L 12"));
}

#else

TEST_CASE("the program was built without twill bench" * doctest::skip()) {}

#endif

}  // namespace bench_test
