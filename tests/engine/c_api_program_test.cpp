// Programs through the C interface, called as a C program would.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "engine/include/twill.h"

namespace {

struct Handles {
  twill_problem* problem = nullptr;
  twill_solution* solution = nullptr;
  twill_program* program = nullptr;
  ~Handles() {
    twill_program_free(program);
    twill_solution_free(solution);
    twill_problem_free(problem);
  }
};

}  // namespace

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

TEST_CASE("nothing given") {
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
  CHECK(std::string(twill_program_error(none.program)) == "no schedule was found");
}
