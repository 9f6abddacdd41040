// What the C interface answers beside the command, whose output is the same text: sub-tilings to
// choose from, register splits in explanations, reports on ranges of costs.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "engine/include/twill.h"
#include "engine/include/twill_emit.hpp"
#include "engine/include/twill_triton.hpp"
#include "tests/support/c_api_handles.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/ttgir_files.hpp"

namespace c_api_beside_command_test {

using Json = nlohmann::json;
using twill::test::contains;
using twill::test::Handles;
using twill::test::run_twill;
using twill::test::workload;

namespace {

/// Hopper with three ranges, all of which attention uses.
std::string ranged_hopper() {
  Json machine = Json::parse(run_twill("machines --show hopper").out);
  machine["rules"]["exp2"]["cycles"][0]["rate"] = {{"nominal", 16}, {"low", 14}, {"high", 20}};
  machine["rules"]["gemm"]["cycles"][0]["rates"]["f16"] = {
      {"nominal", 2048}, {"low", 1800}, {"high", 2048}};
  machine["channels"]["L2"]["rate"] = {{"nominal", 64}, {"low", 60}, {"high", 64}};
  return machine.dump(1);
}

/// What a run measured is not what it answered.
Json without_times(const char* text) {
  Json json = Json::parse(text);
  Json& schedule = json.contains("schedule") ? json["schedule"] : json;
  schedule["solver"].erase("seconds");
  schedule.erase("made_by");  // the machine by its text here, by its file there
  return json;
}

}  // namespace

TEST_CASE("the best of several sub-tilings of a module") {
  const std::string name = "hopper-attention-forward";
  const std::string text = twill::test::module_text(name);
  twill_workload w = workload(text.c_str(), nullptr);
  std::int64_t best = 0;
  for (const int subtile : {1, 2, 4}) {
    w.subtile = subtile;
    Handles one;
    if (twill_workload_solve(&w, nullptr, &one.problem, &one.solution) != TWILL_OK) continue;
    const std::int64_t interval = twill_solution_ii(one.solution);
    if (interval > 0 && (best == 0 || interval < best)) best = interval;
  }
  w.subtile = 0;
  Handles all, annotated;
  REQUIRE(twill_workload_solve(&w, nullptr, &all.problem, &all.solution) == TWILL_OK);
  CHECK(twill_solution_status(all.solution) == TWILL_OPTIMAL);
  CHECK(twill_solution_ii(all.solution) == best);
  CHECK(twill_verify(all.problem, all.solution) == TWILL_OK);
  const auto command = run_twill("solve --quiet --json --subtile auto " +
                                 twill::test::kTritonFolder + name + ".ttgir");
  REQUIRE(command.code == 0);
  CHECK(without_times(twill_solution_json(all.solution)) == without_times(command.out.c_str()));
  CHECK(contains(twill_solution_json(all.solution), "M="));  // which one, among the options
  REQUIRE(twill_ttgir_emit(&w, all.problem, all.solution, "pipelined", &all.report) == TWILL_OK);
  CHECK(contains(twill_report_text(all.report), "prologue"));
  CHECK(twill_ttgir_emit(&w, all.problem, all.solution, "ttgir", &annotated.report) ==
        TWILL_BAD_INPUT);
  w.normalize = 300;
  Handles normalised;
  CHECK(twill_workload_solve(&w, nullptr, &normalised.problem, &normalised.solution) ==
        TWILL_BAD_INPUT);
  CHECK(contains(twill_problem_error(normalised.problem), "sub-tilings compare clocks"));
}

TEST_CASE("several sub-tilings in C++: each layout with the module that it is of") {
  const std::string text = twill::test::module_text("hopper-attention-forward");
  twill::TritonOptions options;
  options.subtile = 0;
  const twill::TritonLoop loop = twill::read_triton(text, "module", {}, options);
  const twill::ProgramSource source = twill::program_source(loop);
  REQUIRE(loop.problems().size() > 1);
  REQUIRE(source.modules.size() == loop.problems().size());
  for (std::size_t k = 0; k < loop.problems().size(); ++k) {
    const int subtile = loop.lowered(k)->options.subtile;
    CHECK(source.modules[k] == loop.lowered(k));
    CHECK(loop.problems()[k].layout.starts_with("M=" + std::to_string(subtile) + " "));
  }
  for (const std::string& why : loop.left_out()) CHECK(contains(why, " is left out: "));
}

TEST_CASE("an explanation for every register split, or for the best one") {
  twill_workload w = workload("fmha-forward", "hopper");
  w.layout = "2x4";
  w.choose_registers = 1;
  Handles h;
  REQUIRE(twill_workload_explain(&w, 0, nullptr, nullptr, &h.report) == TWILL_OK);
  const Json layouts = Json::parse(twill_report_text(h.report));
  REQUIRE(layouts.size() == 1);
  CHECK(layouts[0]["verdict"] == "unsat");
  const auto command =
      run_twill("explain --json fmha-forward --machine hopper --layout 2x4 --registers auto");
  CHECK(command.code == 0);
  CHECK(layouts[0] == Json::parse(command.out));

  // With proofs, a folder a layout.
  const twill::test::TemporaryDirectory folder;
  w = workload("figure-1", "figure-1");
  Handles proved, reached, negative;
  const std::string proof = folder / "why";
  REQUIRE(twill_workload_explain(&w, 0, nullptr, proof.c_str(), &proved.report) == TWILL_OK);
  CHECK(Json::parse(twill_report_text(proved.report))[0]["certificate"] == "question");
  Handles checked;
  CHECK(twill_certificate_check((proof + "/question").c_str(), &checked.report) == TWILL_OK);
  Handles used;  // refused before anything is searched for
  CHECK(twill_workload_explain(&w, 0, nullptr, proof.c_str(), &used.report) == TWILL_BAD_INPUT);
  CHECK(contains(twill_report_error(used.report), "must not exist or be an empty directory"));
  REQUIRE(twill_workload_explain(&w, 100, nullptr, nullptr, &reached.report) == TWILL_OK);
  CHECK(Json::parse(twill_report_text(reached.report))[0]["verdict"] == "sat");
  CHECK(twill_workload_explain(&w, -1, nullptr, nullptr, &negative.report) == TWILL_BAD_INPUT);
}

TEST_CASE("what ranges of costs mean for an answer") {
  const std::string machine = ranged_hopper();
  const twill::test::TemporaryDirectory folder;
  twill::test::put(folder / "machine", machine);
  twill_workload w = workload("fmha-forward", machine.c_str());
  Handles h;
  REQUIRE(twill_workload_ranges(&w, nullptr, &h.problem, &h.solution, &h.report) == TWILL_OK);
  CHECK(twill_verify(h.problem, h.solution) == TWILL_OK);
  const Json report = without_times(twill_report_text(h.report));
  CHECK(report["complete"] == true);
  CHECK(report["worst_case"]["proved"] == true);
  CHECK(report["worst_case"]["initiation_interval"] == twill_solution_ii(h.solution));
  const auto command =
      run_twill("solve --quiet --json fmha-forward --machine " + (folder / "machine"));
  CHECK(report == without_times(command.out.c_str()));

  Handles none, normalised, alone;
  CHECK(twill_workload_ranges(&w, nullptr, nullptr, nullptr, &alone.report) == TWILL_OK);
  const twill_workload plain = workload("fmha-forward", "hopper");
  CHECK(twill_workload_ranges(&plain, nullptr, &none.problem, &none.solution, &none.report) ==
        TWILL_BAD_INPUT);
  CHECK(contains(twill_report_error(none.report), "must give a cost as a range"));
  CHECK(none.problem == nullptr);
  w.normalize = 300;
  CHECK(twill_workload_ranges(&w, nullptr, nullptr, nullptr, &normalised.report) ==
        TWILL_BAD_INPUT);
}

}  // namespace c_api_beside_command_test
