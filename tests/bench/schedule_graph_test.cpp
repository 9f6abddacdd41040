// `twill bench schedule-graph`: a product's loop as that scheduler writes it, made by hand.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "engine/include/twill.hpp"
#include "graph/schedule_io.hpp"
#include "graph/verify.hpp"
#include "tests/support/lab.hpp"

namespace schedule_graph_test {

#ifdef TWILL_PROGRAM

using namespace twill::test;
using nlohmann::json;

namespace {

const std::string kGraphs = TWILL_TEST_DATA "/schedule-graph/";
const std::string kSchedule = kGraphs + "product.schedule_graph.json";
const std::string kDependences = kGraphs + "product.ddg.json";

std::string quoted(const std::string& path) {
  return " '" + path + "'";
}

/// The schedule's file with one change, judged.
Run changed(const TemporaryDirectory& folder, const std::function<void(json&)>& change) {
  json file = json::parse(bytes(kSchedule));
  change(file);
  put(folder / "changed.json", file.dump());
  return bench("schedule-graph" + quoted(folder / "changed.json"));
}

json& nodes(json& file) {
  return file["loops"][0]["schedule_loop"]["graph"]["nodes"];
}

}  // namespace

TEST_CASE("their loops become problems, their schedules schedules") {
  const TemporaryDirectory folder;
  const Run run = bench("schedule-graph" + quoted(kSchedule) + quoted(kDependences) + " -o" +
                        quoted(folder / "out"));
  CHECK(run.code == 0);
  CHECK(run.out.find("accepted") != std::string::npos);
  const std::string stem = folder / "out/product.schedule_graph-product-loop0";
  const twill::Problem problem = twill::read_problem(stem + ".problem.json");
  const twill::Solution theirs = twill::read_schedule(problem, stem + ".schedule.json");
  REQUIRE(theirs.schedule);
  CHECK(theirs.schedule->initiation_interval == 256);
  CHECK_FALSE(twill::verify(problem, *theirs.schedule));
  // Nodes and edges as they are; a buffer from the load's issue to the end of what reads it.
  REQUIRE(problem.ops.size() == 5);
  CHECK(problem.units.size() == 2);
  CHECK(problem.ops[0].cycles == 30);
  CHECK(problem.ops[1].cycles == 0);
  CHECK(problem.ops[4].kind == "ttng.tc_gen5_mma");
  REQUIRE(problem.ops[0].footprints.size() == 1);
  CHECK(problem.ops[0].footprints[0].amount == 16'384);
  CHECK(problem.ops[1].footprints.empty());
  REQUIRE(problem.edges.size() == 7);
  CHECK(problem.edges[5] == twill::Edge{0, 4, 0, 0, false, 500});
  // The dependence graph knows how long the loads take their engine.
  const twill::Problem before =
      twill::read_problem(folder / "out/product.ddg-product-loop0.problem.json");
  CHECK(before.ops[0].cycles == 96);
  CHECK(before.ops[0].footprints.empty());
  CHECK(twill::solve(before).schedule->initiation_interval == 256);
}

TEST_CASE("what their schedules break is said") {
  const Run late = bench("schedule-graph" + quoted(kSchedule) + " --ddg" + quoted(kDependences));
  CHECK(late.code == 0);
  CHECK(late.out.find("refused") != std::string::npos);
  CHECK(late.err.find("capacity of TMA at cycle 30: N0[0] 1 + N2[0] 1 = 2 > 1") !=
        std::string::npos);
  const TemporaryDirectory folder;
  const Run early = changed(folder, [](json& file) { nodes(file)[4]["schedule"]["cycle"] = 629; });
  CHECK(early.err.find("dependence: N4[0] at 629 < N3[0] at 630") != std::string::npos);
  const Run large = changed(folder, [](json& file) {
    file["loops"][0]["schedule_loop"]["buffers"][0]["size_bytes"] = 65'536;
  });
  CHECK(large.err.find("memory smem") != std::string::npos);
}

TEST_CASE("files that cannot be read are refused with their place; the others are read") {
  const TemporaryDirectory folder;
  const auto refused = [&](const std::function<void(json&)>& change, const std::string& place) {
    const Run run = changed(folder, change);
    CHECK(run.code == 2);
    CAPTURE(run.err);
    CHECK(run.err.find(place) != std::string::npos);
  };
  const std::string graph = "/loops/0/schedule_loop/graph";
  refused([](json& file) { file["schema_version"] = "9"; }, "/schema_version");
  refused([](json& file) { nodes(file)[1]["id"] = 0; }, graph + "/nodes/1/id");
  refused([](json& file) { nodes(file)[1].erase("schedule"); }, graph + "/nodes/1");
  refused([](json& file) { nodes(file)[1]["warp_group"] = 7; }, graph + "/nodes/1/warp_group");
  refused([](json& file) { file["loops"][0]["schedule_loop"]["graph"]["edges"][0]["src"] = 9; },
          graph + "/edges/0/src");
  refused([](json& file) { file["loops"][0]["schedule_loop"]["II"] = 0; },
          "/loops/0/schedule_loop/II");
  put(folder / "broken.json", "{");
  const Run both = bench("schedule-graph" + quoted(folder / "broken.json") + quoted(kSchedule));
  CHECK(both.code == 2);
  CHECK(both.out.find("accepted") != std::string::npos);
  // Another kernel's dependence graph.
  json other = json::parse(bytes(kDependences));
  other["loops"][0]["ddg"]["nodes"][2]["op_kind"] = "tt.load";
  put(folder / "other.json", other.dump());
  const Run mixed =
      bench("schedule-graph" + quoted(kSchedule) + " --ddg" + quoted(folder / "other.json"));
  CHECK(mixed.code == 2);
  CHECK(mixed.err.find(graph + "/nodes/2") != std::string::npos);
}

TEST_CASE("questions to their joint solver, and its answers") {
  const std::string question = kGraphs + "product.joint.json";
  const TemporaryDirectory folder;
  const Run run = bench("schedule-graph" + quoted(question) + " -o" + quoted(folder / "out"));
  CHECK(run.code == 0);
  const twill::Problem problem =
      twill::read_problem(folder / "out/product.joint-product.joint.problem.json");
  REQUIRE(problem.ops.size() == 5);
  CHECK(problem.units.size() == 2);
  CHECK(problem.ops[1].cycles == 0);
  CHECK(problem.ops[1].footprints == std::vector<twill::Footprint>{{0, 16'384}});
  REQUIRE(problem.edges.size() == 7);
  CHECK(problem.edges[0].delay == 0);  // its load streams
  CHECK(problem.edges[1].delay == 1);
  CHECK(problem.edges[5] == twill::Edge{1, 4, 0, 0, false, 1});
  CHECK(twill::solve(problem).schedule->initiation_interval == 256);

  json answer = {{"version", "joint-solver-0.1"}, {"status", "ok"}, {"ii", 256}};
  answer["cycles"] = {{"0", 0}, {"1", 0}, {"2", 96}, {"3", 96}, {"4", 97}};
  const auto judged = [&](const std::string& more = "") {
    put(folder / "answer.json", answer.dump());
    return bench("schedule-graph" + quoted(question) + " --solution" +
                 quoted(folder / "answer.json") + more);
  };
  CHECK(judged().out.find("accepted") != std::string::npos);
  answer["cycles"]["4"] = 96;
  CHECK(judged().err.find("dependence: N4[0] at 96 < N3[0] at 96 + delay 1") != std::string::npos);
  answer["cycles"]["4"] = 97 + 256 * 3;  // four buffers of each load
  CHECK(judged().err.find("memory smem") != std::string::npos);

  const auto refused = [&](const std::string& place, const std::string& more = "") {
    const Run wrong = judged(more);
    CHECK(wrong.code == 2);
    CAPTURE(wrong.err);
    CHECK(wrong.err.find(place) != std::string::npos);
  };
  answer["cycles"]["9"] = 1;
  refused("/cycles/9");
  answer["cycles"].erase("9");
  answer["cycles"].erase("3");
  refused("must have node 3");
  answer["status"] = "infeasible";
  refused("/status");
  refused("needs one FILE alone", quoted(kSchedule));

  const json original = json::parse(bytes(question));
  const auto changed_to = [&](const std::function<void(json&)>& change, const std::string& place) {
    json file = original;
    change(file);
    put(folder / "changed.json", file.dump());
    const Run wrong = bench("schedule-graph" + quoted(folder / "changed.json"));
    CHECK(wrong.code == 2);
    CAPTURE(wrong.err);
    CHECK(wrong.err.find(place) != std::string::npos);
  };
  changed_to([](json& file) { file["version"] = "joint-solver-0.2"; }, "/version");
  changed_to([](json& file) { file["version"] = "joint-solver-7"; }, "/version");
  changed_to([](json& file) { file["relax_keep_kinds"] = {"resource"}; }, "/relax_keep_kinds");
  changed_to([](json& file) { file["nodes"][1]["id"] = 0; }, "/nodes/1/id");
  changed_to([](json& file) { file["edges"][1]["src"] = 8; }, "/edges/1/src");
  changed_to([](json& file) { file["buffers"][1]["kind"] = "disk"; }, "/buffers/1/kind");
  changed_to([](json& file) { file["buffers"][1]["consumers"][0] = 8; }, "/buffers/1/consumers/0");
  changed_to([](json& file) { file["min_ii"] = 0; }, "/min_ii");
}

#endif

}  // namespace schedule_graph_test
