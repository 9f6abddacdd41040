// Ranges of costs as a user meets them: machines --fit, and solve on the machine that it writes.

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "graph/problem_io.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace ranges_cli_test {

using twill::test::bytes;
using twill::test::contains;
using twill::test::is_silent;
using twill::test::put;
using twill::test::Run;
using twill::test::run_twill;
using Folder = twill::test::TemporaryDirectory;
using Json = nlohmann::ordered_json;

namespace {

const std::string kMeasurements = TWILL_TEST_DATA "/../fuzz/measurements/hopper";

/// hopper with four ranges, one of which no attention forward uses.
std::string ranged_hopper() {
  Json machine = Json::parse(run_twill("machines --show hopper").out);
  machine["name"] = "ranged";
  machine["rules"]["exp2"]["cycles"][0]["rate"] = {{"nominal", 16}, {"low", 14}, {"high", 20}};
  machine["rules"]["gemm"]["cycles"][0]["rates"]["f16"] = {
      {"nominal", 2048}, {"low", 1800}, {"high", 2048}};
  machine["channels"]["L2"]["rate"] = {{"nominal", 64}, {"low", 60}, {"high", 64}};
  machine["rules"]["tma_reduce"]["cycles"][0]["rate"] = {{"nominal", 16}, {"low", 8}, {"high", 16}};
  return machine.dump(1);
}

}  // namespace

TEST_CASE("machines --fit writes a machine that solve takes") {
  const Folder folder;
  const std::string machine = folder / "m.json";
  const Run fitted = run_twill("machines --fit " + kMeasurements + " --base hopper -o " + machine);
  CHECK(fitted.code == 0);
  CHECK(fitted.out.empty());
  CHECK(contains(fitted.err, "rules.exp2.cycles.0.rate: "));
  const Run printed = run_twill("machines --quiet --fit " + kMeasurements + " --base hopper");
  CHECK(printed.out == bytes(machine));
  CHECK(is_silent(printed));
  const Json file = Json::parse(printed.out);
  CHECK(file["name"] == "hopper-measured");
  CHECK(file["rules"]["exp2"]["cycles"][0]["rate"].is_object());

  const Run json = run_twill("solve fmha-forward --json --quiet --machine " + machine);
  CHECK(json.code == 0);
  CHECK(is_silent(json));
  const Json report = Json::parse(json.out);
  CHECK(report["format"] == "twill.ranges");
  CHECK(report["complete"] == true);
  CHECK(report["worst_case"]["proved"] == true);
  const auto worst = report["schedule"]["initiation_interval"].get<int>();
  CHECK(report["worst_case"]["initiation_interval"] == worst);
  CHECK(report["worst_case"]["judged"].size() == report["ranges"].size() + 2);
  CHECK(report["nominal"]["initiation_interval"].get<int>() < worst);
  CHECK(report["best"]["initiation_interval"].get<int>() <
        report["nominal"]["initiation_interval"].get<int>());
  CHECK(report["ranges"][0]["place"] == "rules.gemm.cycles.0.rates.f16");

  CHECK(run_twill("machines --fit " + kMeasurements).code == 2);
  CHECK(run_twill("machines --base hopper").code == 2);
  CHECK(run_twill("machines --fit /nowhere --base hopper").code == 2);
  CHECK(run_twill("machines --fit " + kMeasurements + " --base /nowhere").code == 2);
  CHECK(run_twill("machines --show hopper --fit " + kMeasurements).code == 2);
  const Run onto =
      run_twill("machines --fit " + kMeasurements + " --base " + machine + " -o " + machine);
  CHECK(onto.code == 2);
  CHECK(contains(onto.err, "must not overwrite the input"));
  const Run wrong = run_twill("machines --fit " + kMeasurements + " --base figure-1");
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "/samples/"));
}

TEST_CASE("solve with ranges: the answer is that of the worst ends, written out") {
  const Folder folder;
  const std::string machine = folder / "m.json";
  put(machine, ranged_hopper());
  const Run solved = run_twill("solve fmha-forward --machine " + machine);
  CHECK(solved.code == 0);
  CHECK(contains(solved.out, "Costs that the machine gives as ranges: 4\n"));
  CHECK(contains(solved.out, "keep it wherever the costs are in their ranges (proved)"));
  CHECK(contains(solved.out, "(6 of 6 are costs of a loop)"));
  // The same with the numbers written out, at each of the three ends.
  const auto interval = [&](const char* exp2, const char* gemm, const char* l2) {
    const Run run =
        run_twill(std::string("solve fmha-forward --json --quiet --machine hopper") +
                  " --set rules.exp2.cycles.0.rate=" + exp2 +
                  " --set rules.gemm.cycles.0.rates.f16=" + gemm + " --set channels.L2.rate=" + l2);
    return Json::parse(run.out)["initiation_interval"].get<int>();
  };
  const Json report =
      Json::parse(run_twill("solve fmha-forward --json --quiet --machine " + machine).out);
  CHECK(report["schedule"]["initiation_interval"] == interval("14", "1800", "60"));
  CHECK(report["nominal"]["initiation_interval"] == interval("16", "2048", "64"));
  CHECK(report["best"]["initiation_interval"] == interval("20", "2048", "64"));
  for (const Json& range : report["ranges"]) {
    const std::string place = range["place"];
    const int alone = place == "rules.exp2.cycles.0.rate"         ? interval("20", "1800", "60")
                      : place == "channels.L2.rate"               ? interval("14", "1800", "64")
                      : place == "rules.tma_reduce.cycles.0.rate" ? interval("14", "1800", "60")
                                                                  : interval("14", "2048", "60");
    CHECK(range["at_best"]["initiation_interval"] == alone);
    CHECK(range["used"] == (place != "rules.tma_reduce.cycles.0.rate"));
  }

  // -o writes schedule and problem of the worst ends, which are files as ever; a machine from
  // standard input is read once.
  const Run written = run_twill("solve fmha-forward --quiet --machine - -o " +
                                (folder / "s.schedule.json") + " < " + machine);
  CHECK(written.code == 0);
  CHECK(written.out.starts_with("Costs that the machine gives as ranges: 4\n"));
  CHECK(run_twill("verify " + (folder / "s.problem.json") + " " + (folder / "s.schedule.json"))
            .code == 0);
  const Run lowered = run_twill("lower fmha-forward --layout 2x4 --machine " + machine + " -o " +
                                (folder / "l.problem.json"));
  CHECK(lowered.code == 0);
  CHECK(bytes(folder / "l.problem.json") == bytes(folder / "s.problem.json"));

  // Plain numbers in the place of all ranges: nothing is said.
  const std::string plain =
      " --set rules.exp2.cycles.0.rate=16 --set channels.L2.rate=64"
      " --set rules.gemm.cycles.0.rates.f16=2048"
      " --set rules.tma_reduce.cycles.0.rate=16";
  const Run settled = run_twill("solve fmha-forward --json --quiet --machine " + machine + plain);
  CHECK(settled.code == 0);
  CHECK(Json::parse(settled.out)["format"] == "twill.schedule");
  CHECK(Json::parse(settled.out)["initiation_interval"] ==
        report["nominal"]["initiation_interval"]);
  const Run typed =
      run_twill("solve fmha-forward --machine " + machine + " --set channels.L2.rate='\"x\"'");
  CHECK(typed.code == 2);
  const Run normal = run_twill("solve fmha-forward --normalize 300 --machine " + machine);
  CHECK(normal.code == 2);
  CHECK(contains(normal.err, "intervals of differently normalised costs cannot be compared"));

  // One interval was asked for: the schedule is judged, nothing is ranked.
  const Run fixed = run_twill("solve fmha-forward --ii 3000 --quiet --machine " + machine);
  CHECK(fixed.code == 0);
  CHECK(contains(fixed.out, "I 3000 at their worst ends"));
  CHECK_FALSE(contains(fixed.out, "alone at its best end, most gained"));
  CHECK_FALSE(contains(fixed.out, "I with the nominal costs"));
}

TEST_CASE("solve with ranges: modules, register splits and chosen slots") {
  const Folder folder;
  const std::string machine = folder / "m.json";
  put(machine, ranged_hopper());
  const std::string module =
      TWILL_TEST_DATA "/../../graph/kernels/triton/hopper-attention-forward.ttgir";
  for (const std::string& rest :
       {module + " --quiet", module + " --quiet --subtile auto",
        module + " --emit ttgir -o " + (folder / "out.ttgir"),
        std::string("fmha-forward --quiet --registers auto"),
        std::string("fmha-forward --quiet --layout 2x4 --pin s0_qk=wg1")}) {
    CAPTURE(rest);
    const Run run = run_twill("solve " + rest + " --machine " + machine);
    CHECK(run.code == 0);
    const std::string& said = contains(rest, "--emit") ? run.err : run.out;
    CHECK(contains(said, "Costs that the machine gives as ranges: 4\n"));
    CHECK(contains(said, "in their ranges (proved)"));
    CHECK(contains(said, "accepted: nominal costs"));
  }
}

}  // namespace ranges_cli_test
