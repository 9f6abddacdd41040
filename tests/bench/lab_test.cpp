// The encodings laboratory as a user runs it: its lists, grids, limits, scrambled formulas, and
// what it refuses.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/lab.hpp"

namespace lab_test {

#ifdef TWILL_PROGRAM

using namespace twill::test;
using nlohmann::json;

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

TEST_CASE("schemas of rows and instances: every property is required or seen, every rule bites") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  const std::string rows = folder / "rows.jsonl";
  REQUIRE(bench("run --quiet -o '" + rows +
                "' --encodings start=order --wall-limit 60 --instances '" + (folder / "") + "'")
              .code == 0);
  std::vector<json> all = lines(bytes(rows));
  if (all[0]["status"] == "UNSAT") std::swap(all[0], all[1]);
  const std::vector<json> asked = lines(bytes(folder / "instances.jsonl"));
  for (const auto& [name, sample] : {std::pair{"row", all[0]}, std::pair{"instance", asked[0]}}) {
    const json schema = bench_schema(name);
    REQUIRE(breaks(sample, schema) == "");
    json changed = sample;
    changed["more"] = 1;
    CHECK(breaks(changed, schema) == ": has more");
    for (const auto& key : schema["required"]) {
      changed = sample;
      changed.erase(key);
      CHECK(breaks(changed, schema) == ": without " + key.get<std::string>());
    }
    for (const auto& [key, rule] : schema["properties"].items()) {
      CAPTURE(key);
      changed = sample;
      changed[key] = rule.contains("enum") ? json("none of these") : json(nullptr);
      CHECK(breaks(changed, schema) != "");
      if (!sample.contains(key)) CHECK(std::string(name) == "row");
    }
  }
  // What a row of the linked solver lacks is of other solvers, of errors, or 0.
  std::set<std::string> missing;
  const json row = bench_schema("row"), instance = bench_schema("instance");
  for (const auto& [key, rule] : row["properties"].items())
    if (!all[0].contains(key) && key != "decisions" && key != "restarts" && key != "learned")
      missing.insert(key);
  std::string missed;
  for (const std::string& key : missing) missed += key + " ";
  CHECK(missed == "error format proof_bytes proof_check_cpu_s solver_command solver_sha256 ");
  // Instances are read as strictly as the schema says.
  for (const auto& [key, rule] : instance["properties"].items()) {
    CAPTURE(key);
    json changed = asked[0];
    changed.erase(key);
    write_lines(folder / "instances.jsonl", {changed});
    CHECK(bench("run --quiet -o '" + (folder / "x.jsonl") + "' --encodings auto --instances '" +
                (folder / "") + "'")
              .code == 2);
  }
  json more = asked[0];
  more["more"] = 1;
  write_lines(folder / "instances.jsonl", {more});
  CHECK(bench("run --quiet -o '" + (folder / "x.jsonl") + "' --encodings auto --instances '" +
              (folder / "") + "'")
            .code == 2);
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

TEST_CASE("chain: one formula and one a question find the same smallest length") {
  const TemporaryDirectory folder;
  REQUIRE(bench("instances --grid quick -o '" + (folder / "q") + "'").code == 0);
  int several = 0;
  for (const json& question : lines(bytes(folder / "q/instances.jsonl"))) {
    if (question["expected"] != "SAT") continue;
    const int length = question["length"];
    CAPTURE(question["name"]);
    for (const char* how : {"", "--afresh"}) {
      const Run run =
          bench("chain '" + (folder / "q") + "/" + question["problem"].get<std::string>() +
                "' --ii " + std::to_string(question["ii"].get<int>()) + " --length " +
                std::to_string(2 * length) + " --encoding start=order " + how);
      CHECK(run.code == 0);
      const json row = json::parse(run.out);
      CHECK(row["status"] == "optimal");
      CHECK(row["length"] == length);
      CHECK(row["incremental"] == (*how == 0));
      several += row["questions"] > 2;
    }
    const Run none =
        bench("chain '" + (folder / "q") + "/" + question["problem"].get<std::string>() +
              "' --ii " + std::to_string(question["ii"].get<int>()) + " --length " +
              std::to_string(std::max(1, length - 1)) + " --encoding start=order");
    CHECK((none.code == 1 || length == 1));
  }
  CHECK(several > 4);
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

}  // namespace lab_test
