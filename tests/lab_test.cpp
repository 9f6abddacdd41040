// The encodings laboratory as a user runs it: `twill bench list|instances|run|check|report` on the
// running example of the Twill paper.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "graph/problem_io.hpp"
#include "tests/support/temporary_directory.hpp"

#ifdef TWILL_PROGRAM

using nlohmann::json;
using twill::test::TemporaryDirectory;

namespace {

struct Run {
  int code = -1;
  std::string out, err;
};

std::string bytes(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Run bench(const std::string& arguments, const std::string& environment = "") {
  const TemporaryDirectory folder;
  const std::string command =
      environment + " '" TWILL_PROGRAM "' bench " + arguments + " 2>'" + (folder / "err") + "'";
  Run run;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    run.out.append(buffer, got);
  const int status = ::pclose(pipe);
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.err = bytes(folder / "err");
  return run;
}

std::vector<json> lines(const std::string& text) {
  std::vector<json> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result.push_back(json::parse(line));
  return result;
}

void write_lines(const std::string& path, const std::vector<json>& rows) {
  std::ofstream file(path);
  for (const json& row : rows) file << row.dump() << "\n";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A folder with two questions about the running example: its optimum, and one cycle less.
void write_questions(const std::string& folder) {
  const std::string problem = bytes(TWILL_TEST_DATA "/examples/figure-1.problem.json");
  std::ofstream(folder + "/figure.problem.json") << problem;
  std::vector<json> list;
  for (const int length : {4, 3})
    list.push_back({{"name", "figure-" + std::to_string(length)},
                    {"family", "example"},
                    {"problem", "figure.problem.json"},
                    {"problem_sha256", twill::sha256(problem)},
                    {"ii", 2},
                    {"length", length},
                    {"expected", length == 4 ? "SAT" : "UNSAT"}});
  write_lines(folder + "/instances.jsonl", list);
}

}  // namespace

TEST_CASE("list: every encoding with family, source and claims; the grids") {
  const json all = json::parse(bench("list --json").out);
  std::set<std::string> names;
  for (const json& row : all["encodings"]) {
    const std::string name = row["key"].get<std::string>() + "=" + row["value"].get<std::string>();
    CHECK(names.insert(name).second);
    CHECK(row.contains("family"));
    if (row["value"] != "off") CHECK_FALSE(row["source"].get<std::string>().empty());
    if (row["key"] == "card" || row["key"] == "pb" || row["key"] == "amo") {
      CHECK(row.contains("propagation"));
      CHECK(row.contains("smaller_bounds_by"));
      CHECK(row.contains("size"));
    }
  }
  for (const char* name : {"amo=pairwise",
                           "amo=ladder",
                           "amo=product",
                           "amo=commander",
                           "amo=binary",
                           "amo=bimander",
                           "card=seqcounter",
                           "card=totalizer",
                           "card=ktotalizer",
                           "card=kmtotalizer",
                           "card=sortnet",
                           "card=cardnet",
                           "card=adder",
                           "pb=bdd",
                           "pb=swc",
                           "pb=gte",
                           "pb=gpw",
                           "pb=lpw",
                           "pb=dpw",
                           "pb=sorter",
                           "pb=adder",
                           "pb=bdd-amo",
                           "pb=swc-amo",
                           "pb=gte-amo",
                           "start=order",
                           "start=direct",
                           "start=channelled",
                           "start=binary",
                           "start=rowstage",
                           "form=modulo",
                           "form=straight-line",
                           "form=straight-line-literal"})
    CHECK_MESSAGE(names.contains(name), name);
  CHECK(all["grids"]["default"]["encodings"].size() >= 60);
  CHECK(all["solver"]["name"] == "cadical");
  // The text form and --help are made of the same table.
  const std::string text = bench("list").out, help = bench("run --help").out;
  for (const std::string& name : names) {
    CHECK(contains(text, name + "  ["));
    CHECK(contains(help, name.substr(name.find('=') + 1)));
  }
}

TEST_CASE("run, check, report: one row a question and encoding, all proved") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  const std::string rows = folder / "rows.jsonl", common = " --instances '" + (folder / "") + "'";
  const Run run =
      bench("run --quiet -j 2 -o '" + rows + "' --encodings 'start=*;pb=bdd|gte;form=*'" + common +
            " --scramble 0..1 --limit-cpu 30");
  CHECK_MESSAGE(run.code == 0, run.err);
  const std::vector<json> all = lines(bytes(rows));
  // 5 starts, 2 sums, 3 forms of which modulo is the default: 10 encodings.
  CHECK(all.size() == 2 * 10 * 2);
  for (const json& row : all) {
    CHECK(row["status"] == row["expected"]);
    for (const char* key : {"schema",
                            "instance",
                            "instance_sha256",
                            "family",
                            "ops",
                            "edges",
                            "I",
                            "L",
                            "mii_res",
                            "mii_rec",
                            "encoder",
                            "encoding",
                            "scramble",
                            "seed",
                            "vars",
                            "clauses",
                            "literals",
                            "encode_cpu_s",
                            "solver",
                            "solver_version",
                            "verified",
                            "cpu_s",
                            "wall_s",
                            "mem_kib",
                            "conflicts",
                            "limit_cpu_s",
                            "limit_conflicts",
                            "limit_mem",
                            "host",
                            "cpu_model",
                            "os",
                            "compiler",
                            "program_sha256",
                            "argv",
                            "start_utc"})
      CHECK_MESSAGE(row.contains(key), key);
    CHECK(row["verified"] == (row["status"] == "SAT" ? "model" : "none"));
  }

  SUBCASE("resumed: nothing is run twice, a row cut off is run again") {
    CHECK(bench("run --quiet -o '" + rows + "' --encodings start=order" + common).code == 2);
    const std::string whole = bytes(rows);
    std::ofstream(rows) << whole.substr(0, whole.size() - 40);
    const Run again =
        bench("run --quiet --resume -o '" + rows + "' --encodings 'start=*;pb=bdd|gte;form=*'" +
              common + " --scramble 0..1 --limit-cpu 30");
    CHECK(again.code == 0);
    CHECK(lines(bytes(rows)).size() == all.size());
  }
  SUBCASE("shards are the whole") {
    std::set<std::string> keys;
    for (const char* shard : {"0", "1", "2"}) {
      const std::string part = folder / ("part-" + std::string(shard));
      CHECK(bench("run --quiet -o '" + part + "' --encodings 'start=*;pb=bdd|gte;form=*' --shard " +
                  shard + "/3" + common)
                .code == 0);
      for (const json& row : lines(bytes(part)))
        CHECK(keys.insert(row["instance"].get<std::string>() + row["encoding"].get<std::string>())
                  .second);
    }
    CHECK(keys.size() == 2 * 10);
  }
  SUBCASE("check accepts them, and refuses what was tampered with") {
    const Run check = bench("check '" + rows + "'" + common + " -o '" + (folder / "checked") + "'");
    CHECK_MESSAGE(check.code == 0, (check.out + check.err));
    CHECK(contains(check.out, "20 models verified, 20 refutations proved by DRAT"));
    CHECK(lines(bytes(folder / "checked")).size() == all.size());

    std::vector<json> wrong = all;
    for (json& row : wrong)
      if (row["status"] == "SAT") {
        row["schedule"]["start"][2] = 1;  // before what it depends on
        break;
      }
    write_lines(rows, wrong);
    const Run refused = bench("check '" + rows + "'" + common);
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, "FAILED figure-4"));
    CHECK(contains(refused.err, "dependence"));
  }
  SUBCASE("a satisfiable formula called UNSAT is found out") {
    std::vector<json> wrong;
    for (json row : all) {
      if (row["instance"] != "figure-4") continue;
      row["status"] = "UNSAT";
      row["expected"] = "";
      wrong.push_back(row);
      break;
    }
    write_lines(rows, wrong);
    const Run refused = bench("check '" + rows + "'" + common);
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, "SAT now"));
  }
  SUBCASE("report: tables, plots, data and a page that needs nothing else") {
    const Run report = bench("report '" + rows + "' -o '" + (folder / "report") + "'");
    CHECK(report.code == 0);
    CHECK(contains(report.out, "| virtual best"));
    CHECK(contains(report.out, "| start=order"));
    CHECK(contains(report.out, "4 questions"));
    for (const char* name : {"scores.csv", "cactus.csv", "rows.csv", "cactus.svg", "scatter-1.svg"})
      CHECK(std::filesystem::file_size(folder / ("report/" + std::string(name))) > 100);
    const std::string page = bytes(folder / "report/index.html");
    CHECK(contains(page, "<svg"));
    CHECK(contains(page, "virtual best"));
    CHECK_FALSE(contains(page, "src="));
    CHECK_FALSE(contains(page, "href="));
    std::istringstream csv(bytes(folder / "report/rows.csv"));
    std::size_t count = 0;
    for (std::string line; std::getline(csv, line);) ++count;
    CHECK(count == all.size() + 1);
  }
  SUBCASE("rows that disagree make the report fail, and are named") {
    std::vector<json> wrong = all;
    for (json& row : wrong) row["expected"] = "";
    wrong.back()["status"] = wrong.back()["status"] == "SAT" ? "UNSAT" : "SAT";
    write_lines(rows, wrong);
    const Run report = bench("report '" + rows + "'");
    CHECK(report.code == 1);
    CHECK(contains(report.err, "DISAGREEMENT"));
  }
}

TEST_CASE("limits: rows beyond the budget, and rows that keep their own limits") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  const std::string common = " --quiet --instances '" + (folder / "") + "'";
  const std::string rows = folder / "rows.jsonl";
  const Run spent = bench("run -o '" + rows +
                          "' -j 1 --encodings 'start=*;amo=*;card=*' --budget 0.0001" + common);
  CHECK(spent.code == 3);
  std::size_t not_run = 0;
  for (const json& row : lines(bytes(rows))) not_run += row["status"] == "NOTRUN";
  CHECK(not_run > 0);
  // What was not run is run on resumption.
  CHECK(bench("run --resume -o '" + rows + "' --encodings 'start=*;amo=*;card=*'" + common).code ==
        0);
  const Run report = bench("report '" + rows + "'");
  CHECK(report.code == 0);
  CHECK_FALSE(contains(report.out, "NOTRUN"));
  CHECK(contains(report.out, "2 questions"));
}

TEST_CASE("scrambled formulas: another order, the same answer") {
  const TemporaryDirectory folder;
  const std::string problem = TWILL_TEST_DATA "/examples/figure-1.problem.json";
  for (const char* question : {"--ii 2 --length 4", "--ii 2 --length 3"}) {
    std::set<std::string> answers;
    for (const char* parts : {"none", "variables", "polarities", "clauses", "literals",
                              "variables,polarities,clauses,literals"}) {
      const Run run = bench("trial '" + problem + "' " + question +
                            " --scramble 7 --scramble-parts " + parts + " --encoding start=order");
      answers.insert(json::parse(run.out)["status"]);
    }
    CHECK(answers.size() == 1);
  }
  CHECK(bench("trial '" + problem + "' --ii 2 --length 4 --scramble-parts colours").code == 2);
}

TEST_CASE("bad input is refused with its place") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  const std::string common =
      " --quiet -o '" + (folder / "rows") + "' --instances '" + (folder / "") + "'";
  CHECK(bench("run --encodings start=sideways" + common).code == 2);
  CHECK(bench("run --encodings nonsense" + common).code == 2);
  CHECK(bench("run --encodings start=order --shard 3/3" + common).code == 2);
  CHECK(bench("run --encodings start=order --scramble 5..1" + common).code == 2);
  std::ofstream(folder / "figure.problem.json") << " ";
  const Run changed = bench("run --encodings start=order" + common);
  CHECK(changed.code == 2);
  CHECK(contains(changed.err, "SHA-256"));
  std::ofstream(folder / "bad.jsonl") << "{}\n";
  CHECK(bench("report '" + (folder / "bad.jsonl") + "'").code == 2);
}

TEST_CASE("instances: the quick grid") {
  const TemporaryDirectory folder;
  CHECK(bench("instances --grid quick -o '" + (folder / "quick") + "'").code == 0);
  const std::vector<json> list = lines(bytes(folder / "quick/instances.jsonl"));
  CHECK(list.size() >= 12);
  std::set<std::string> expected;
  for (const json& instance : list) expected.insert(instance["expected"]);
  CHECK(expected == std::set<std::string>{"SAT", "UNSAT"});
}

#endif
