// The encodings laboratory: questions of one's own problem files.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/lab.hpp"

namespace lab_instances_test {

#ifdef TWILL_PROGRAM

using namespace twill::test;
using nlohmann::json;

namespace {

const std::string kExamples = TWILL_TEST_DATA "/examples/";
const std::string kFigure = kExamples + "figure-1.problem.json";

std::vector<json> instances(const std::string& folder) {
  return lines(bytes(folder + "/instances.jsonl"));
}

}  // namespace

TEST_CASE("a problem at an I and an L: a question whose answer is not known") {
  const TemporaryDirectory folder;
  const std::string out = folder / "own", rows = folder / "rows.jsonl";
  for (const auto& [length, answer] : {std::pair{"4", "SAT"}, {"3", "UNSAT"}}) {
    REQUIRE(
        bench("instances --from '" + kFigure + "' --ii 2 --length " + length + " -o '" + out + "'")
            .code == 0);
    const std::vector<json> list = instances(out);
    REQUIRE(list.size() == 1);
    CHECK(list[0]["name"] == "figure-1");
    CHECK(list[0]["family"] == "problem");
    CHECK(list[0]["ii"] == 2);
    CHECK(list[0]["length"] == std::stoi(length));
    CHECK(list[0]["expected"] == "");
    std::filesystem::remove(rows);
    REQUIRE(bench("run --quiet --instances '" + out + "' -o '" + rows +
                  "' --encodings start=order --cpu-limit 10")
                .code == 0);
    const std::vector<json> found = lines(bytes(rows));
    REQUIRE(found.size() == 1);
    CHECK(found[0]["status"] == answer);
    CHECK(bench("check '" + rows + "' --instances '" + out + "'").code == 0);
  }
}

TEST_CASE("a problem alone: its optimum, and what is just below") {
  const TemporaryDirectory folder;
  const std::string out = folder / "own";
  REQUIRE(bench("instances --from '" + kFigure + "' -o '" + out + "'").code == 0);
  const std::vector<json> list = instances(out);
  REQUIRE(list.size() == 2);  // I = 2 is a bound
  CHECK(list[0]["name"] == "figure-1-sat");
  CHECK(list[0]["length"] == 4);
  CHECK(list[0]["expected"] == "SAT");
  CHECK(list[1]["name"] == "figure-1-short");
  CHECK(list[1]["length"] == 3);
  CHECK(list[1]["expected"] == "UNSAT");
}

TEST_CASE("a folder: all that its endings name, whatever else is in it") {
  const TemporaryDirectory folder;
  const std::string in = folder / "in", out = folder / "out";
  std::filesystem::create_directories(in + "/deeper.sm");
  std::filesystem::copy(kFigure, in + "/it's #1.problem.json");
  std::filesystem::copy(TWILL_TEST_DATA "/literature/small.sm", in + "/a.sm");
  std::ofstream(in + "/notes.txt") << "nothing";
  REQUIRE(bench("instances --from '" + in + "' -o '" + out + "'").code == 0);
  const std::vector<json> list = instances(out);
  REQUIRE(list.size() >= 3);
  CHECK(list[0]["family"] == "rcpsp");
  CHECK(list.back()["name"] == "it's #1-short");
  CHECK(contains(bytes(out + "/it's #1-short.yml"), "input_files: 'it''s #1.problem.json'"));
}

TEST_CASE("what cannot be asked is refused by name") {
  const TemporaryDirectory folder;
  const std::string out = " -o '" + (folder / "out") + "'", empty = folder / "empty";
  std::filesystem::create_directories(empty);
  json problem = json::parse(bytes(kFigure));
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    const Run run = bench("instances " + arguments + out);
    CHECK(run.code == 2);
    CHECK_MESSAGE(contains(run.err, why), run.err);
    CHECK(!std::filesystem::exists(folder / "out"));
  };
  refused("--from '" + kFigure + "' --ii 2", "--ii: found 2: must have --length beside it");
  refused("--ii 2 --length 4", "--from");
  refused("--from '" TWILL_TEST_DATA "/literature/small.sm' --ii 2 --length 4",
          "must be for problem files alone");
  refused("--from '" + empty + "'", "must have a file that ends in .problem.json");
  refused("--from '" + kFigure + "' --from '" + kFigure + "'", "must be the name of one file only");
  refused("--from '" + kFigure + "' --ii 0 --length 4", "--ii");
  const std::string long_name = folder / (std::string(191, 'n') + ".problem.json");
  std::ofstream(long_name) << problem.dump();
  refused("--from '" + long_name + "'", "must have at most 190 bytes");
}

#endif

}  // namespace lab_instances_test
