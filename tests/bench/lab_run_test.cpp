// The encodings laboratory: `twill bench run | check | report`, on the running example of the Twill
// paper.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "graph/problem_io.hpp"
#include "tests/support/lab.hpp"

namespace lab_run_test {

#ifdef TWILL_PROGRAM

using namespace twill::test;
using nlohmann::json;

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
                            "aux_by_family",
                            "clauses_by_family",
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
    // The families are all of the formula.
    std::int64_t variables = 0, clauses = 0;
    for (const json& size : row["aux_by_family"]) variables += size.get<std::int64_t>();
    for (const json& size : row["clauses_by_family"]) clauses += size.get<std::int64_t>();
    CHECK(variables == row["vars"]);
    CHECK(clauses == row["clauses"]);
    for (const char* family : {"starts", "dependence", "capacity", "slots"})
      CHECK_MESSAGE(row["clauses_by_family"].contains(family), family);
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
  SUBCASE("shuffled: the same rows in an order that the seed gives") {
    std::set<std::string> orders;
    for (const int seed : {0, 1, 2, 3, 4, 5, 1}) {
      const std::string file =
          folder / ("shuffled-" + std::to_string(orders.size()) + "-" + std::to_string(seed));
      CHECK(bench("run --quiet -j 1 -o '" + file + "' --encodings start=order --shuffle " +
                  std::to_string(seed) + common)
                .code == 0);
      std::string order;
      for (const json& row : lines(bytes(file))) order += row["instance"].get<std::string>() + " ";
      CHECK(order.size() == std::string("figure-4 figure-3 ").size());
      orders.insert(order);
    }
    CHECK(orders.size() == 2);  // two instances have two orders
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

#endif

}  // namespace lab_run_test
