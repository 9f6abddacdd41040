// Programs through the C interface, called as a C program would.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "engine/include/twill.h"
#include "tests/support/c_api_handles.hpp"
#include "tests/support/ttgir_files.hpp"

namespace c_api_program_test {

using twill::test::Handles;

TEST_CASE("a schedule becomes a program, without numbers") {
  Handles h;
  REQUIRE(twill_problem_lower("hopper-bwd", "hopper", nullptr, 0, &h.problem) == TWILL_OK);
  REQUIRE(twill_solve(h.problem, nullptr, &h.solution) == TWILL_OK);
  REQUIRE(twill_program_derive(h.problem, h.solution, &h.program) == TWILL_OK);
  CHECK(std::string(twill_program_error(h.program)).empty());
  CHECK(twill_program_ii(h.program) == twill_solution_ii(h.solution));
  CHECK(twill_program_executable(h.program) == 0);
  CHECK(twill_program_judge(h.program) == TWILL_OK);
  CHECK(std::string(twill_program_text(h.program)).find("fence: asynchronous") !=
        std::string::npos);
  double share = 1;
  CHECK(twill_program_run(h.program, 2, 0, &share) == TWILL_BAD_INPUT);
  CHECK(share == 0);
  CHECK(std::string(twill_program_error(h.program)).find("what its ops compute") !=
        std::string::npos);
  // Of another problem there is none.
  Handles other;
  REQUIRE(twill_problem_lower("hopper-bwd-q64", "hopper", nullptr, 0, &other.problem) == TWILL_OK);
  CHECK(twill_program_derive(other.problem, h.solution, &other.program) == TWILL_BAD_INPUT);
  Handles none;
  CHECK(twill_program_derive(h.problem, nullptr, &none.program) == TWILL_BAD_INPUT);
}

TEST_CASE(
    "a kernel becomes a program with numbers; its file is read again; one made wrong is refused") {
  Handles h;
  REQUIRE(twill_program_kernel("hopper-fwd-sub2", "hopper", nullptr, &h.program) == TWILL_OK);
  CHECK(twill_program_ii(h.program) == 2048);
  CHECK(twill_program_executable(h.program) == 1);
  CHECK(twill_program_judge(h.program) == TWILL_OK);
  double share = 0;
  CHECK(twill_program_run(h.program, 3, 7, &share) == TWILL_OK);
  CHECK(share > 0);
  CHECK(share <= 1);
  CHECK(twill_program_run(h.program, 0, 7, nullptr) == TWILL_OK);
  CHECK(twill_program_run(h.program, -1, 7, nullptr) == TWILL_BAD_INPUT);
  CHECK(twill_program_run(h.program, 1001, 7, nullptr) == TWILL_BAD_INPUT);

  auto json = nlohmann::ordered_json::parse(twill_program_json(h.program));
  Handles same;
  const std::string text = twill_program_json(h.program);
  REQUIRE(twill_program_parse(text.data(), text.size(), &same.program) == TWILL_OK);
  CHECK(text == twill_program_json(same.program));
  CHECK(std::string(twill_program_text(same.program)) == twill_program_text(h.program));
  for (auto& slot : json["slots"])
    for (auto& op : slot["ops"]) op.erase("waits");
  Handles wrong;
  const std::string less = json.dump();
  REQUIRE(twill_program_parse(less.data(), less.size(), &wrong.program) == TWILL_OK);
  CHECK(twill_program_judge(wrong.program) == TWILL_REFUSED);
  CHECK(!std::string(twill_program_error(wrong.program)).empty());
  CHECK(twill_program_run(wrong.program, 3, 7, nullptr) == TWILL_REFUSED);
  Handles broken;
  CHECK(twill_program_parse("{}", 2, &broken.program) == TWILL_BAD_INPUT);
  CHECK(twill_program_judge(broken.program) == TWILL_BAD_INPUT);
  CHECK(twill_program_ii(broken.program) == 0);
  CHECK(std::string(twill_program_json(broken.program)).empty());
  CHECK(std::string(twill_program_text(broken.program)).empty());
}

TEST_CASE("a program and a workload become kernels in each language") {
  twill_workload gemm;
  twill_workload_init(&gemm);
  gemm.input = "gemm";
  gemm.machine = "hopper";
  for (const auto& [to, begin] : {std::pair{"gluon", "@gluon.jit"},
                                  {"cuda", "kThreads = "},
                                  {"ttgir-ws", "ttg.warp_specialize"}}) {
    CAPTURE(to);
    Handles h, again;
    REQUIRE(twill_workload_emit(&gemm, nullptr, to, -1, &h.program, &h.report) == TWILL_OK);
    const std::string text = twill_report_text(h.report);
    CHECK(text.find(begin) != std::string::npos);
    CHECK(twill_program_judge(h.program) == TWILL_OK);
    REQUIRE(twill_program_emit(h.program, to, -1, &again.report) == TWILL_OK);
    // They differ in the head alone, where a program's machine has no name.
    const std::string alone = twill_report_text(again.report);
    CHECK(alone.find("the machine of its program") != std::string::npos);
    CHECK(text.find("the machine of its program") == std::string::npos);
    CHECK(std::count(alone.begin(), alone.end(), '\n') >=
          std::count(text.begin(), text.end(), '\n'));
  }
  Handles one;
  CHECK(twill_workload_emit(&gemm, nullptr, "ttgir-ws", 0, &one.program, &one.report) == TWILL_OK);
}

TEST_CASE("a module's loop becomes a kernel with its function's name") {
  const std::string text = twill::test::module_text("hopper-attention-forward");
  twill_workload w;
  twill_workload_init(&w);
  w.input = text.c_str();
  w.subtile = 2;
  Handles h;
  REQUIRE(twill_workload_emit(&w, nullptr, "gluon", -1, &h.program, &h.report) == TWILL_OK);
  CHECK(std::string(twill_report_text(h.report)).find("attention_forward = UserKernel()") !=
        std::string::npos);
}

TEST_CASE("what cannot be emitted says why") {
  const auto error = [](const Handles& h) {
    return std::string(h.report != nullptr ? twill_report_error(h.report)
                                           : twill_program_error(h.program));
  };
  twill_workload gemm;
  twill_workload_init(&gemm);
  gemm.input = "gemm";
  gemm.machine = "hopper";
  const auto refused = [&](const char* to, int trips, const char* part) {
    Handles h;
    CHECK(twill_workload_emit(&gemm, nullptr, to, trips, &h.program, &h.report) == TWILL_BAD_INPUT);
    CHECK_MESSAGE(error(h).find(part) != std::string::npos, error(h));
    CHECK(h.report == nullptr);
  };
  refused("ptx", -1, "gluon, cuda, ttgir-ws or tilelang");
  refused(nullptr, -1, "gluon, cuda, ttgir-ws or tilelang");
  refused("cuda", 2, "for-trips");
  refused("ttgir-ws", -2, "for_trips");
  gemm.for_triton = 1;
  refused("cuda", -1, "for_triton");
  gemm.for_triton = 0;
  // Chosen registers are those of one loop.
  gemm.choose_registers = 1;
  Handles split;
  CHECK(twill_workload_emit(&gemm, nullptr, "cuda", -1, &split.program, &split.report) == TWILL_OK);
  const std::string loops =
      twill::read_file(TWILL_TEST_DATA "/ttgir/attention-causal-two-loops-hopper.ttgir");
  gemm.input = loops.c_str();
  gemm.machine = nullptr;
  refused("gluon", -1, "share their registers");
  gemm.choose_registers = 0;
  // What Triton has pipelined by copies into rings is a function again, its loops both.
  const std::string rings = twill::read_file(TWILL_TEST_DATA "/lowered/adapters-hopper.ttgir");
  gemm.input = rings.c_str();
  Handles undone;
  CHECK_MESSAGE(
      twill_workload_emit(&gemm, nullptr, "gluon", -1, &undone.program, &undone.report) == TWILL_OK,
      error(undone));

  // The kernel file does not say what its ops compute.
  gemm.input = "figure-1";
  gemm.machine = "figure-1";
  Handles bare, again, none, wrong;
  CHECK(twill_workload_emit(&gemm, nullptr, "cuda", -1, &bare.program, &bare.report) ==
        TWILL_REFUSED);
  CHECK(error(bare).find("meaning: ") == 0);
  CHECK(twill_program_ii(bare.program) > 0);
  CHECK(twill_program_emit(bare.program, "cuda", -1, &again.report) == TWILL_REFUSED);
  CHECK(error(again).find("meaning: ") == 0);
  twill_options options;
  twill_options_init(&options);
  options.ii = 1;
  CHECK(twill_workload_emit(&gemm, &options, "cuda", -1, &none.program, &none.report) ==
        TWILL_REFUSED);
  CHECK(twill_program_ii(none.program) == 0);
  CHECK(!error(none).empty());

  // One that the judge refuses.
  Handles right;
  REQUIRE(twill_program_kernel("gemm", "hopper", nullptr, &right.program) == TWILL_OK);
  auto json = nlohmann::ordered_json::parse(twill_program_json(right.program));
  for (auto& slot : json["slots"])
    for (auto& op : slot["ops"]) op.erase("waits");
  const std::string less = json.dump();
  REQUIRE(twill_program_parse(less.data(), less.size(), &wrong.program) == TWILL_OK);
  CHECK(twill_program_judge(wrong.program) == TWILL_REFUSED);
  CHECK(twill_program_emit(wrong.program, "cuda", -1, &wrong.report) == TWILL_REFUSED);
  CHECK(error(wrong) == twill_program_error(wrong.program));
}

TEST_CASE("a workload's program with turns, beside its schedule and in time") {
  twill_workload w;
  twill_workload_init(&w);
  w.input = "hopper-fwd-sub2";
  w.machine = "hopper";
  Handles h, turns, other;
  REQUIRE(twill_workload_program(&w, nullptr, nullptr, 0, &h.problem, &h.solution, &h.program) ==
          TWILL_OK);
  CHECK(twill_program_executable(h.program) == 1);
  CHECK(twill_program_compare(h.program, h.problem, h.solution) == TWILL_OK);
  REQUIRE(twill_workload_program(&w, nullptr, "all", 0, nullptr, nullptr, &turns.program) ==
          TWILL_OK);
  CHECK(std::string(twill_program_json(turns.program)).find("\"turn\"") != std::string::npos);
  CHECK(std::string(twill_program_json(h.program)).find("\"turn\"") == std::string::npos);
  CHECK(twill_workload_program(&w, nullptr, "some", 0, nullptr, nullptr, &other.program) ==
        TWILL_BAD_INPUT);
  twill_time time;
  twill_time_init(&time);
  time.iterations = 40;
  // What barriers cost is the machine's, where nobody says.
  twill_report* costed = nullptr;
  REQUIRE(twill_program_time(h.program, h.problem, h.solution, &time, &costed) == TWILL_OK);
  const auto with_barriers = nlohmann::json::parse(twill_report_text(costed));
  twill_report_free(costed);
  CHECK(with_barriers["wait_cost"] == 30);
  CHECK(with_barriers["arrive_cost"] == 41);
  CHECK(with_barriers["contention"].size() == 4);
  time.wait_cost = time.arrive_cost = 0;
  time.no_contention = 1;
  REQUIRE(twill_program_time(h.program, h.problem, h.solution, &time, &h.report) == TWILL_OK);
  const auto timed = nlohmann::json::parse(twill_report_text(h.report));
  CHECK_FALSE(timed.contains("contention"));
  CHECK(timed["orders"][0]["steady"]["clocks"] == twill_solution_ii(h.solution));
  CHECK(with_barriers["orders"][0]["total"] > timed["orders"][0]["total"]);
  time.arrive_cost = 100;
  REQUIRE(twill_program_time(h.program, h.problem, h.solution, &time, &turns.report) == TWILL_OK);
  CHECK(nlohmann::json::parse(twill_report_text(turns.report))["orders"][0]["total"] >
        timed["orders"][0]["total"]);
  time.arrive_cost = -2;
  CHECK(twill_program_time(h.program, h.problem, h.solution, &time, &other.report) ==
        TWILL_BAD_INPUT);
  CHECK(std::string(twill_report_error(other.report)).find("arrive cost") != std::string::npos);
  // Another schedule is told apart.
  twill_options options;
  twill_options_init(&options);
  options.ii = 2100;
  twill_solution* slower = nullptr;
  twill_report *trace = nullptr, *none = nullptr;
  REQUIRE(twill_solve(h.problem, &options, &slower) == TWILL_OK);
  CHECK(twill_program_compare(h.program, h.problem, slower) == TWILL_REFUSED);
  CHECK(twill_program_trace(h.program, h.problem, slower, nullptr, "arrival", &none) ==
        TWILL_BAD_INPUT);
  REQUIRE(twill_program_trace(h.program, h.problem, h.solution, nullptr, "arrival", &trace) ==
          TWILL_OK);
  const auto events = nlohmann::json::parse(twill_report_text(trace));
  CHECK(events["otherData"]["problem_sha256"] ==
        nlohmann::json::parse(twill_solution_json(h.solution))["problem_sha256"]);
  twill_report_free(trace);
  twill_report_free(none);
  twill_solution_free(slower);
}

TEST_CASE("nothing given") {
  twill_report* no_report = nullptr;
  CHECK(twill_program_emit(nullptr, "cuda", -1, nullptr) == TWILL_BAD_INPUT);
  CHECK(twill_program_emit(nullptr, "cuda", -1, &no_report) == TWILL_BAD_INPUT);
  CHECK(!std::string(twill_report_error(no_report)).empty());
  twill_report_free(no_report);
  CHECK(twill_workload_emit(nullptr, nullptr, "cuda", -1, nullptr, nullptr) == TWILL_BAD_INPUT);
  CHECK(twill_workload_emit(nullptr, nullptr, "cuda", -1, nullptr, &no_report) == TWILL_BAD_INPUT);
  CHECK(no_report == nullptr);
  CHECK(twill_program_parse(nullptr, 0, nullptr) == TWILL_BAD_INPUT);
  CHECK(twill_program_kernel(nullptr, nullptr, nullptr, nullptr) == TWILL_BAD_INPUT);
  CHECK(twill_program_judge(nullptr) == TWILL_BAD_INPUT);
  CHECK(twill_program_run(nullptr, 1, 0, nullptr) == TWILL_BAD_INPUT);
  CHECK(twill_program_ii(nullptr) == 0);
  CHECK(twill_program_executable(nullptr) == 0);
  CHECK(std::string(twill_program_error(nullptr)).empty());
  twill_program_free(nullptr);
  Handles h;
  CHECK(twill_program_kernel("no-such-kernel", "hopper", nullptr, &h.program) == TWILL_BAD_INPUT);
  CHECK(!std::string(twill_program_error(h.program)).empty());
  Handles none;
  twill_options options;
  twill_options_init(&options);
  options.ii = 1;
  CHECK(twill_program_kernel("hopper-fwd-sub2", "hopper", &options, &none.program) ==
        TWILL_REFUSED);
  CHECK(std::string(twill_program_error(none.program)).find("no schedule") == 0);
}

}  // namespace c_api_program_test
