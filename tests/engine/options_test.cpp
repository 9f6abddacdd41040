// Typed options and the texts that go with 2.0.
#include <doctest/doctest.h>

#include "engine/include/twill.hpp"

namespace options_test {

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

TEST_CASE("few cycles and ops that share a unit in parts: every cycle in clauses") {
  Problem p;
  p.name = "shares";
  p.warps = {{"w", 4, 0, false}};
  p.units = {{"U", 5}};
  const auto op = [&](const char* id, Cycle cycles, Amount amount) {
    Op one;
    one.id = id;
    one.cycles = cycles;
    one.width = 4;
    one.reservations = {{0, 0, cycles, amount}};
    p.ops.push_back(one);
  };
  op("a", 2, 3);
  op("b", 3, 2);
  op("c", 1, 3);
  const auto engine = [&] { return solve(p, {}).engine; };
  CHECK(engine() == "time_indexed");
  CHECK(solve(p, {}).schedule->initiation_interval == 3);
  p.ops[1].cycles = p.ops[1].reservations[0].length = 998;  // 1,001 together
  CHECK(engine() == "order");
  p.ops[1].cycles = p.ops[1].reservations[0].length = 3;
  p.units[0].capacity = 3;
  CHECK(engine() == "time_indexed");  // b leaves one
  p.ops.erase(p.ops.begin() + 1);
  CHECK(engine() == "order");  // each takes all
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

}  // namespace options_test
