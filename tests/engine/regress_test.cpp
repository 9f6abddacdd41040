// Problems that the engine once got wrong: every NAME.problem.json in tests/regress is solved and
// compared with expected.json there and with the exhaustive search.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/order/searcher.hpp"
#include "tests/support/agreement.hpp"

namespace regress_test {

using namespace twill;
using namespace twill::test;

TEST_CASE("problems that were solved wrongly once") {
  const std::filesystem::path folder =
      std::filesystem::path(TWILL_TEST_DATA).parent_path() / "regress";
  std::ifstream file(folder / "expected.json");
  const nlohmann::json expected = nlohmann::json::parse(file);
  std::map<std::string, Problem> problems;
  const std::string ending = ".problem.json";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > ending.size() && name.ends_with(ending))
      problems[name.substr(0, name.size() - ending.size())] = read_problem(entry.path().string());
  }
  REQUIRE(problems.size() == expected.size());
  for (const auto& [name, problem] : problems) {
    CAPTURE(name);
    REQUIRE(expected.contains(name));
    const nlohmann::json& answer = expected.at(name);
    for (const auto& way : {std::pair{"order", ""},
                            {"order-cadical", ""},
                            {"time_indexed", ""},
                            {"time_indexed", "start=order"},
                            {"order", "symmetry=off,pb=swc"},
                            {"time_indexed", "symmetry=off,pb=swc"}}) {
      Options options;
      options.engine = way.first;
      options.encoding = way.second;
      CAPTURE(options.engine);
      CAPTURE(options.encoding);
      if (options.engine == "order-cadical" && !has_cadical_searcher()) continue;
      options.time_limit = 20;
      CHECK(disagreement(problem, options) == "");
      const Solution solution = solve(problem, options);
      CHECK(to_string(solution.status) == answer.at("status").get<std::string>());
      if (!solution.schedule) continue;
      CHECK(solution.schedule->initiation_interval ==
            answer.at("initiation_interval").get<Cycle>());
      CHECK(solution.schedule->length == answer.at("length").get<Cycle>());
    }
  }
}

}  // namespace regress_test
