// The C interface, called as a C program would.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "engine/include/twill.h"
#include "graph/problem_io.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace c_api_test {

using twill::test::bytes;
using twill::test::put;
using twill::test::TemporaryDirectory;

namespace {

std::string example(const char* name) {
  return std::string(TWILL_TEST_DATA) + "/examples/" + name + ".problem.json";
}

struct Handles {
  twill_problem* problem = nullptr;
  twill_solution* solution = nullptr;
  ~Handles() {
    twill_solution_free(solution);
    twill_problem_free(problem);
  }
};

}  // namespace

TEST_CASE("solve, look, verify, and read the answer back") {
  Handles h;
  REQUIRE(twill_problem_read(example("figure-1").c_str(), &h.problem) == TWILL_OK);
  CHECK(std::string(twill_problem_error(h.problem)).empty());
  CHECK(twill_problem_op_count(h.problem) == 3);
  CHECK(twill_problem_slot_count(h.problem) == 1);
  CHECK(std::string(twill_problem_op_id(h.problem, 1)) == "P");
  CHECK(twill_problem_op_id(h.problem, 3) == nullptr);
  REQUIRE(twill_solve(h.problem, nullptr, &h.solution) == TWILL_OK);
  CHECK(twill_solution_status(h.solution) == TWILL_OPTIMAL);
  CHECK(twill_solution_ii(h.solution) == 2);
  CHECK(twill_solution_length(h.solution) == 4);
  CHECK(twill_solution_ii_lower_bound(h.solution) == 2);
  CHECK(twill_solution_start(h.solution, 2) == 3);
  CHECK(twill_solution_slot(h.solution, 2) == 0);
  CHECK(twill_solution_start(h.solution, 3) == -1);
  CHECK(twill_verify(h.problem, h.solution) == TWILL_OK);

  Handles again;
  const std::string json = twill_solution_json(h.solution);
  REQUIRE(twill_solution_parse(h.problem, json.data(), json.size(), &again.solution) == TWILL_OK);
  CHECK(json == twill_solution_json(again.solution));
  const std::string problem = twill_problem_json(h.problem);
  CHECK(json.find(twill::sha256(problem)) != std::string::npos);
}

TEST_CASE("pictures of a solution") {
  Handles h;
  REQUIRE(twill_problem_read(example("figure-1").c_str(), &h.problem) == TWILL_OK);
  REQUIRE(twill_solve(h.problem, nullptr, &h.solution) == TWILL_OK);
  const char* text = nullptr;
  for (const auto& [format, has] :
       {std::pair{"text", "Steady state"}, {"html", "<svg"}, {"dot", "digraph"}, {"trace", "{"}}) {
    REQUIRE(twill_solution_picture(h.problem, h.solution, format, &text) == TWILL_OK);
    CHECK(std::string(text).find(has) != std::string::npos);
  }
  for (const char* format : {"png", "", static_cast<const char*>(nullptr)}) {
    CHECK(twill_solution_picture(h.problem, h.solution, format, &text) == TWILL_BAD_INPUT);
    CHECK(std::string(text).empty());
    CHECK(std::string(twill_solution_error(h.solution)).find("format") != std::string::npos);
  }
  CHECK(twill_solution_picture(nullptr, h.solution, "text", &text) == TWILL_BAD_INPUT);
  CHECK(twill_solution_picture(h.problem, nullptr, "text", &text) == TWILL_BAD_INPUT);
  CHECK(twill_solution_picture(h.problem, h.solution, "text", nullptr) == TWILL_BAD_INPUT);
  Handles other;
  REQUIRE(twill_problem_lower("gemm", "hopper", nullptr, 0, &other.problem) == TWILL_OK);
  CHECK(twill_solution_picture(other.problem, h.solution, "text", &text) == TWILL_BAD_INPUT);
}

TEST_CASE("certificates are written and checked") {
  Handles h;
  twill_options options;
  twill_options_init(&options);
  REQUIRE(twill_problem_read(example("figure-1").c_str(), &h.problem) == TWILL_OK);
  const TemporaryDirectory folder;
  const std::string place = folder / "c";
  // Without evidence there is nothing to show.
  REQUIRE(twill_solve(h.problem, &options, &h.solution) == TWILL_OK);
  CHECK(twill_certificate_write(h.problem, h.solution, place.c_str()) == TWILL_BAD_INPUT);
  CHECK_FALSE(std::string(twill_solution_error(h.solution)).empty());
  CHECK(twill_certificate_write(h.problem, h.solution, nullptr) == TWILL_BAD_INPUT);

  Handles kept;
  options.evidence = 1;
  REQUIRE(twill_solve(h.problem, &options, &kept.solution) == TWILL_OK);
  REQUIRE(twill_certificate_write(h.problem, kept.solution, place.c_str()) == TWILL_OK);
  twill_report* report = nullptr;
  REQUIRE(twill_certificate_check(place.c_str(), &report) == TWILL_OK);
  CHECK(std::string(twill_report_text(report)).find("no schedule has I < 2") != std::string::npos);
  CHECK(std::string(twill_report_error(report)).empty());
  twill_report_free(report);
  // One number changed.
  std::string schedule = bytes(place + "/schedule.json");
  const std::size_t at = schedule.find("\"start\": ");
  REQUIRE(at != std::string::npos);
  schedule[at + 9] = '7';
  put(place + "/schedule.json", schedule);
  CHECK(twill_certificate_check(place.c_str(), &report) == TWILL_REFUSED);
  CHECK(std::string(twill_report_error(report)).find("schedule.json") != std::string::npos);
  twill_report_free(report);
  CHECK(twill_certificate_check((folder / "none").c_str(), &report) == TWILL_BAD_INPUT);
  CHECK_FALSE(std::string(twill_report_error(report)).empty());
  twill_report_free(report);
}

TEST_CASE("a wrong schedule is refused with its arithmetic") {
  Handles h;
  REQUIRE(twill_problem_read(example("figure-1").c_str(), &h.problem) == TWILL_OK);
  REQUIRE(twill_solve(h.problem, nullptr, &h.solution) == TWILL_OK);
  std::string json = twill_solution_json(h.solution);
  const std::size_t at = json.find("\"start\": ", json.find("\"id\": \"P\""));
  REQUIRE(at != std::string::npos);
  json[at + 9] = '0';  // P in the cycle of S, one before S has ended
  Handles wrong;
  REQUIRE(twill_solution_parse(h.problem, json.data(), json.size(), &wrong.solution) == TWILL_OK);
  CHECK(twill_verify(h.problem, wrong.solution) == TWILL_REFUSED);
  CHECK(std::string(twill_solution_error(wrong.solution)).find("dependence") != std::string::npos);
}

TEST_CASE("channels and loads in flight") {
  const std::string text = R"({"format": "twill.problem", "version": 4, "name": "p", "units": {},
    "memories": {"m": {"capacity": 2, "rings": true}}, "channels": {"bus": [7, 2]},
    "warps": [{"name": "w", "width": 1, "registers": 0}],
    "ops": [{"id": "ld", "cycles": 0, "memory": {"m": 1}, "variable_latency": true,
             "in_flight": true, "traffic": {"bus": 36}}, {"id": "a", "cycles": 2}],
    "edges": [{"from": "ld", "to": "a", "delay": 20, "distance": 0}]})";
  Handles h;
  REQUIRE(twill_problem_parse(text.data(), text.size(), &h.problem) == TWILL_OK);
  CHECK(twill::parse_problem(twill_problem_json(h.problem)) == twill::parse_problem(text));
  REQUIRE(twill_solve(h.problem, nullptr, &h.solution) == TWILL_OK);
  CHECK(twill_solution_ii(h.solution) == 12);  // 20 + 2 cycles are less than two intervals
  CHECK(twill_solution_length(h.solution) == 22);
  CHECK(twill_verify(h.problem, h.solution) == TWILL_OK);
  Handles bad;
  std::string wrong = text;
  wrong.replace(wrong.find("[7, 2]"), 6, "[0, 2]");
  CHECK(twill_problem_parse(wrong.data(), wrong.size(), &bad.problem) == TWILL_BAD_INPUT);
  CHECK(std::string(twill_problem_error(bad.problem)).find("/channels/bus/0") != std::string::npos);
}

TEST_CASE("inner loops: parts keep their offsets, and their slot for themselves") {
  const std::string text = R"({"format": "twill.problem", "version": 5, "name": "p",
    "units": {"TC": 1}, "memories": {}, "warps": [{"name": "w", "width": 1, "registers": 0},
    {"name": "x", "width": 1, "registers": 0}],
    "ops": [{"id": "a", "cycles": 6, "reservation": {"TC": [[0, 2, 1], [4, 2, 1]]}},
            {"id": "b", "cycles": 3}, {"id": "store", "cycles": 2, "reservation": {"TC": [[0, 2, 1]]}}],
    "edges": [{"from": "b", "to": "store", "delay": 3, "distance": 0}],
    "pins": [{"op": "a", "warp": "w"}, {"op": "b", "warp": "x"}],
    "inner_loops": [{"name": "k", "parts": {"a": 0, "b": 5}}]})";
  Handles h;
  REQUIRE(twill_problem_parse(text.data(), text.size(), &h.problem) == TWILL_OK);
  CHECK(twill::parse_problem(twill_problem_json(h.problem)) == twill::parse_problem(text));
  REQUIRE(twill_solve(h.problem, nullptr, &h.solution) == TWILL_OK);
  // 6 cycles of a on w; in its hole on the unit store runs on x, beside b: 8 = 2 modulo 6.
  CHECK(twill_solution_ii(h.solution) == 6);
  CHECK(twill_solution_length(h.solution) == 10);
  CHECK(twill_verify(h.problem, h.solution) == TWILL_OK);
}

TEST_CASE("bad input leaves a handle with the message, never an exception") {
  Handles h;
  const std::string text = R"({"format": "twill.problem"})";
  CHECK(twill_problem_parse(text.data(), text.size(), &h.problem) == TWILL_BAD_INPUT);
  CHECK(std::strlen(twill_problem_error(h.problem)) > 10);
  CHECK(twill_problem_op_count(h.problem) == 0);
  CHECK(std::string(twill_problem_json(h.problem)).empty());
  CHECK(twill_solve(h.problem, nullptr, &h.solution) == TWILL_BAD_INPUT);
  CHECK(std::strlen(twill_solution_error(h.solution)) > 0);
  CHECK(twill_solution_ii(h.solution) == 0);
  CHECK(twill_verify(h.problem, h.solution) == TWILL_BAD_INPUT);
  twill_problem_free(h.problem);
  CHECK(twill_problem_read(nullptr, &h.problem) == TWILL_BAD_INPUT);
  twill_problem_free(h.problem);
  CHECK(twill_problem_read("/nonexistent", nullptr) == TWILL_BAD_INPUT);
  CHECK(twill_problem_read("/nonexistent", &h.problem) == TWILL_BAD_INPUT);
  CHECK(twill_solve(nullptr, nullptr, nullptr) == TWILL_BAD_INPUT);
}

TEST_CASE("options: only the fields that the caller's header has are read") {
  Handles h;
  REQUIRE(twill_problem_read(example("figure-1").c_str(), &h.problem) == TWILL_OK);
  twill_options options;
  twill_options_init(&options);
  options.ii = 3;
  options.stages = "nonsense";
  options.size = offsetof(twill_options, stages);  // of a header that ended before it
  CHECK(twill_solve(h.problem, &options, &h.solution) == TWILL_OK);
  CHECK(twill_solution_ii(h.solution) == 2);
  twill_solution_free(h.solution);
  options.size = sizeof options;
  CHECK(twill_solve(h.problem, &options, &h.solution) == TWILL_BAD_INPUT);
  CHECK(std::string(twill_solution_error(h.solution)).find("nonsense") != std::string::npos);
  twill_solution_free(h.solution);
  options.stages = nullptr;
  CHECK(twill_solve(h.problem, &options, &h.solution) == TWILL_OK);
  CHECK(twill_solution_ii(h.solution) == 3);
  twill_solution_free(h.solution);
  options.size = 0;
  CHECK(twill_solve(h.problem, &options, &h.solution) == TWILL_BAD_INPUT);
}

TEST_CASE("no schedule is an answer") {
  Handles h;
  REQUIRE(twill_problem_read(example("undercount").c_str(), &h.problem) == TWILL_OK);
  REQUIRE(twill_solve(h.problem, nullptr, &h.solution) == TWILL_OK);
  CHECK(twill_solution_status(h.solution) == TWILL_INFEASIBLE);
  CHECK(twill_solution_ii(h.solution) == 0);
  CHECK(twill_solution_start(h.solution, 0) == -1);
}

TEST_CASE("a kernel on a machine; a flag that is set stops the search at once") {
  Handles h;
  REQUIRE(twill_problem_lower("fmha-forward", "blackwell-paper", nullptr, 0, &h.problem) ==
          TWILL_OK);
  CHECK(twill_problem_op_count(h.problem) > 40);
  volatile int cancel = 1;
  twill_options options;
  twill_options_init(&options);
  options.cancel = &cancel;
  REQUIRE(twill_solve(h.problem, &options, &h.solution) == TWILL_OK);
  CHECK(twill_solution_status(h.solution) != TWILL_OPTIMAL);
  Handles unknown;
  CHECK(twill_problem_lower("nonsense", "hopper", nullptr, 0, &unknown.problem) == TWILL_BAD_INPUT);
  CHECK(std::string(twill_problem_error(unknown.problem)).find("fmha-forward") !=
        std::string::npos);
}

TEST_CASE("schedules of version 2: what made them, and goals that cost cycles of L") {
  // Three cycles of L are a slot less, on another layout.
  twill_options options;
  twill_options_init(&options);
  CHECK(options.length_slack == -1);
  options.goals = "slots";
  Handles shortest, fewest;
  REQUIRE(twill_solve_kernel("blackwell-bwd", "blackwell", 0, 0, &options, &shortest.problem,
                             &shortest.solution) == TWILL_OK);
  options.length_slack = 3;
  options.evidence = 1;
  REQUIRE(twill_solve_kernel("blackwell-bwd", "blackwell", 0, 0, &options, &fewest.problem,
                             &fewest.solution) == TWILL_OK);
  CHECK(twill_solution_status(fewest.solution) == TWILL_OPTIMAL);
  CHECK(twill_solution_ii(fewest.solution) == twill_solution_ii(shortest.solution));
  CHECK(twill_solution_length(fewest.solution) == twill_solution_length(shortest.solution) + 3);
  const auto json = nlohmann::json::parse(twill_solution_json(fewest.solution));
  CHECK(json["version"] == 2);
  CHECK(json["length_slack"]["at_most"] == json["length"]);
  CHECK(json["made_by"]["machine"] == "blackwell");
  CHECK(json["made_by"]["layout"] == "8+4-wide");
  CHECK(json["made_by"]["twill"] == twill_version());
  CHECK(json["goals"].back()["name"] == "length");
  const char* svg = nullptr;
  REQUIRE(twill_solution_picture(fewest.problem, fewest.solution, "svg", &svg) == TWILL_OK);
  CHECK(std::string(svg).find("machine blackwell, layout 8+4-wide") != std::string::npos);
  // A problem that was lowered here knows its machine, one that was read does not.
  Handles lowered, read;
  REQUIRE(twill_problem_lower("gemm", "hopper", "2x4", 20, &lowered.problem) == TWILL_OK);
  REQUIRE(twill_solve(lowered.problem, nullptr, &lowered.solution) == TWILL_OK);
  CHECK(nlohmann::json::parse(twill_solution_json(lowered.solution))["made_by"]["layout"] == "2x4");
  const std::string text = twill_problem_json(lowered.problem);
  REQUIRE(twill_problem_parse(text.data(), text.size(), &read.problem) == TWILL_OK);
  REQUIRE(twill_solve(read.problem, nullptr, &read.solution) == TWILL_OK);
  CHECK(nlohmann::json::parse(twill_solution_json(read.solution))["version"] == 1);
  options.goals = nullptr;
  Handles refused;
  CHECK(twill_solve(read.problem, &options, &refused.solution) == TWILL_BAD_INPUT);
  CHECK(std::string(twill_solution_error(refused.solution)).find("needs --goals") !=
        std::string::npos);
}

TEST_CASE("a kernel in either reading of its machine") {
  Handles paper, machine, file, none;
  REQUIRE(twill_problem_lower_as("hopper-layer-norm", "hopper", nullptr, 0, "paper",
                                 &paper.problem) == TWILL_OK);
  REQUIRE(twill_problem_lower_as("hopper-layer-norm", "hopper", nullptr, 0, "machine",
                                 &machine.problem) == TWILL_OK);
  REQUIRE(twill_problem_lower("hopper-layer-norm", "hopper", nullptr, 0, &file.problem) ==
          TWILL_OK);
  CHECK(std::string(twill_problem_json(file.problem)) == twill_problem_json(machine.problem));
  CHECK(std::string(twill_problem_json(file.problem)) != twill_problem_json(paper.problem));
  CHECK(twill_problem_lower_as("hopper-layer-norm", "hopper", nullptr, 0, "poem", &none.problem) ==
        TWILL_BAD_INPUT);
  CHECK(std::string(twill_problem_error(none.problem)).find("must be machine or paper") !=
        std::string::npos);
  twill_options options;
  twill_options_init(&options);
  for (const auto& [reading, ii] : {std::pair{"paper", 420}, std::pair{"machine", 512}}) {
    Handles h;
    options.reading = reading;
    REQUIRE(twill_solve_kernel("hopper-layer-norm", "hopper", 0, 0, &options, &h.problem,
                               &h.solution) == TWILL_OK);
    CHECK(twill_solution_ii(h.solution) == ii);
  }
}

TEST_CASE("the register split is chosen: the problem that comes back has it") {
  Handles h, fixed;
  REQUIRE(twill_solve_split("blackwell-fwd-plain", "blackwell", "softmax-correction", 0, nullptr,
                            &h.problem, &h.solution) == TWILL_OK);
  CHECK(twill_solution_status(h.solution) == TWILL_OPTIMAL);
  CHECK(twill_solution_ii(h.solution) == 1472);
  CHECK(twill_verify(h.problem, h.solution) == TWILL_OK);
  CHECK(std::string(twill_solution_json(h.solution)).find("setmaxnreg softmax0") !=
        std::string::npos);
  REQUIRE(twill_problem_lower("blackwell-fwd-plain", "blackwell", "softmax-correction", 0,
                              &fixed.problem) == TWILL_OK);
  REQUIRE(twill_solve(fixed.problem, nullptr, &fixed.solution) == TWILL_OK);
  CHECK(twill_solution_ii(fixed.solution) == 1728);
  Handles none;
  CHECK(twill_solve_split("figure-1", "figure-1", nullptr, 0, nullptr, &none.problem,
                          &none.solution) == TWILL_BAD_INPUT);
  CHECK(std::string(twill_problem_error(none.problem)).find("register split") != std::string::npos);
  CHECK(none.solution == nullptr);
}

TEST_CASE("the main job: the best of all layouts, with goals") {
  twill_options options;
  twill_options_init(&options);
  options.goals = "handovers,registers";
  options.engine = "time_indexed";
  for (const int choose : {0, 1}) {
    CAPTURE(choose);
    twill_problem* problem = nullptr;
    twill_solution* solution = nullptr;
    REQUIRE(twill_solve_kernel("fmha-forward", "hopper", 20, choose, &options, &problem,
                               &solution) == TWILL_OK);
    CHECK(twill_solution_status(solution) == TWILL_OPTIMAL);
    CHECK(twill_verify(problem, solution) == TWILL_OK);
    const std::string text = twill_solution_json(solution);
    CHECK(text.find("\"engine\": \"time_indexed\"") != std::string::npos);
    CHECK(text.find("\"handovers\"") != std::string::npos);
    CHECK(text.find("\"registers\"") != std::string::npos);
    CHECK((text.find("\"registers at launch\"") != std::string::npos) == (choose == 1));
    twill_solution_free(solution);
    twill_problem_free(problem);
  }
  twill_problem* problem = nullptr;
  twill_solution* solution = nullptr;
  options.goals = "nothing";
  CHECK(twill_solve_kernel("fmha-forward", "hopper", 20, 0, &options, &problem, &solution) ==
        TWILL_BAD_INPUT);
  CHECK(std::string(twill_problem_error(problem)).find("nothing") != std::string::npos);
  CHECK(solution == nullptr);
  twill_problem_free(problem);
}

TEST_CASE("the tiles are chosen: the values are among the options") {
  for (const int choose : {0, 1}) {
    Handles h;
    REQUIRE(twill_solve_tiles("hopper-mlp-tiles", "hopper", nullptr, choose, nullptr, &h.problem,
                              &h.solution) == TWILL_OK);
    CHECK(twill_solution_status(h.solution) == TWILL_OPTIMAL);
    CHECK(twill_verify(h.problem, h.solution) == TWILL_OK);
    const std::string text = twill_solution_json(h.solution);
    CHECK(text.find("\"tile hidden\": \"128\"") != std::string::npos);
    CHECK(text.find("\"tile T\": \"bf16\"") != std::string::npos);
  }
  Handles fixed, file;
  REQUIRE(twill_solve_tiles("hopper-mlp-tiles", "hopper", "rows=128,hidden=64", 0, nullptr,
                            &fixed.problem, &fixed.solution) == TWILL_OK);
  REQUIRE(twill_solve_kernel("hopper-mlp", "hopper", 0, 0, nullptr, &file.problem,
                             &file.solution) == TWILL_OK);
  CHECK(twill_solution_ii(fixed.solution) == twill_solution_ii(file.solution));
  CHECK(twill_solution_length(fixed.solution) == twill_solution_length(file.solution));
  const std::pair<const char*, const char*> wrong[] = {
      {"rows", "must be NAME=VALUE"}, {"rows=7", "must be one of"}, {"no=7", "no such parameter"}};
  for (const auto& [tiles, rule] : wrong) {
    Handles none;
    CHECK(twill_solve_tiles("hopper-mlp-tiles", "hopper", tiles, 0, nullptr, &none.problem,
                            &none.solution) == TWILL_BAD_INPUT);
    CHECK(std::string(twill_problem_error(none.problem)).find(rule) != std::string::npos);
    CHECK(none.solution == nullptr);
  }
  Handles plain;
  CHECK(twill_solve_tiles("gemm", "hopper", "", 0, nullptr, &plain.problem, &plain.solution) ==
        TWILL_BAD_INPUT);
}

TEST_CASE("many threads solve at once") {
  const std::string text = bytes(example("carried-spill"));
  std::vector<std::thread> threads;
  std::vector<int64_t> found(8, 0);
  for (std::size_t k = 0; k < found.size(); ++k) {
    threads.emplace_back([&, k] {
      Handles h;
      if (twill_problem_parse(text.data(), text.size(), &h.problem) != TWILL_OK) return;
      if (twill_solve(h.problem, nullptr, &h.solution) != TWILL_OK) return;
      found[k] = twill_solution_ii(h.solution);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int64_t ii : found) CHECK(ii == 5);
}

TEST_CASE("eight threads solve one problem, each its own way, and verify and draw the answer") {
  twill_problem* problem = nullptr;
  REQUIRE(twill_problem_lower("hopper-fwd-plain", "hopper", nullptr, 30, &problem) == TWILL_OK);
  std::vector<std::thread> threads;
  std::vector<int64_t> found(8, 0);
  for (std::size_t k = 0; k < found.size(); ++k) {
    threads.emplace_back([&found, problem, k] {
      Handles h;  // the problem stays the caller's
      twill_options options;
      twill_options_init(&options);
      options.seed = k;
      options.threads = k % 4 == 3 ? 2 : 1;
      options.engine = k % 2 == 0 ? "order" : "time_indexed";
      options.evidence = k % 3 == 0;
      const char* text = nullptr;
      if (twill_solve(problem, &options, &h.solution) != TWILL_OK ||
          twill_verify(problem, h.solution) != TWILL_OK ||
          twill_solution_picture(problem, h.solution, "html", &text) != TWILL_OK)
        return;
      found[k] = twill_solution_ii(h.solution);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int64_t ii : found) CHECK(ii == found[0]);
  CHECK(found[0] > 0);
  twill_problem_free(problem);
}

TEST_CASE("the time of a number of iterations") {
  Handles h;
  REQUIRE(twill_problem_read(example("figure-1").c_str(), &h.problem) == TWILL_OK);
  twill_options options;
  twill_options_init(&options);
  CHECK(options.iterations == 0);
  options.iterations = 5;
  REQUIRE(twill_solve(h.problem, &options, &h.solution) == TWILL_OK);
  CHECK(twill_solution_whole_time(h.solution) ==
        4 * twill_solution_ii(h.solution) + twill_solution_length(h.solution));
  CHECK(twill_solution_whole_time_lower_bound(h.solution) == twill_solution_whole_time(h.solution));
  twill_solution_free(h.solution);
  options.iterations = 0;
  REQUIRE(twill_solve(h.problem, &options, &h.solution) == TWILL_OK);
  CHECK(twill_solution_whole_time(h.solution) == 0);
  twill_solution_free(h.solution);
  options.iterations = -3;
  CHECK(twill_solve(h.problem, &options, &h.solution) == TWILL_BAD_INPUT);
  CHECK(twill_solution_whole_time(h.solution) == 0);
  CHECK(twill_solution_whole_time(nullptr) == 0);
}

}  // namespace c_api_test
