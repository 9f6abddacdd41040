// Typed options and the texts that go with 2.0.
#include <doctest/doctest.h>

#include "engine/include/twill.hpp"

using namespace twill;

namespace {

Problem figure_1() {
  return read_problem(TWILL_TEST_DATA "/examples/figure-1.problem.json");
}

}  // namespace

TEST_CASE("a typed option says the same as its text, and comes before it") {
  for (const auto& [typed, text] :
       {std::pair{StageChoice{}, "complete"}, std::pair{StageChoice{StageChoice::paper}, "paper"},
        std::pair{StageChoice{StageChoice::limited, 2}, "2"}}) {
    Options by_text, by_type;
    by_text.stages = text;
    by_type.stages = "nonsense";
    by_type.search_stages = typed;
    const Solution a = solve(figure_1(), by_text), b = solve(figure_1(), by_type);
    CHECK(b.stages == text);
    CHECK(a.stages == b.stages);
    CHECK(a.options == b.options);
    CHECK(a.schedule == b.schedule);
  }
  for (const auto& [typed, text] :
       {std::pair{EngineChoice::automatic, "order"}, std::pair{EngineChoice::order, "order"},
        std::pair{EngineChoice::time_indexed, "time_indexed"}}) {
    Options options;
    options.engine = "nonsense";
    options.search_engine = typed;
    CHECK(solve(figure_1(), options).engine == text);
  }
}

TEST_CASE("what no search has is refused") {
  Options options;
  for (const Cycle most : {Cycle{0}, Cycle{-1}, Cycle{1'000'000}}) {
    options.search_stages = StageChoice{StageChoice::limited, most};
    CHECK_THROWS_AS(solve(figure_1(), options), InputError);
  }
  options.search_stages.reset();
  for (const char* stages : {"", "0", "1000000", "-1", "2x", "Complete"}) {
    options.stages = stages;
    CHECK_THROWS_AS(solve(figure_1(), options), InputError);
  }
  options.stages = "000002";
  CHECK(solve(figure_1(), options).stages == "2");
  options.engine = "cdcl";
  CHECK_THROWS_AS(solve(figure_1(), options), InputError);
}
