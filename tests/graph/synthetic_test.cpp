// The generator of random loops: what its knobs promise.
#include "graph/synthetic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/error.hpp"
#include "graph/problem_io.hpp"

namespace synthetic_test {

using namespace twill;

namespace {

SyntheticLoop knobs_of(int ops, std::uint64_t seed) {
  SyntheticLoop knobs;
  knobs.ops = ops;
  knobs.seed = seed;
  knobs.width = std::max(2, ops / 5);
  knobs.recurrences = std::max(1, ops / 12);
  return knobs;
}

int carried(const Problem& p) {
  return static_cast<int>(
      std::count_if(p.edges.begin(), p.edges.end(), [](const Edge& e) { return e.distance > 0; }));
}

}  // namespace

TEST_CASE("synthetic loops of 5 to 500 ops are well formed, and the seed is all that is random") {
  for (const int ops : {1, 5, 25, 100, 500}) {
    CAPTURE(ops);
    std::set<std::string> texts;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const Problem p = synthetic_loop(knobs_of(ops, seed));
      CHECK(static_cast<int>(p.ops.size()) == ops);
      CHECK_NOTHROW(check(p));
      CHECK(monotone_in_ii(p));
      for (int v = 0; v < ops; ++v) CHECK_FALSE(allowed_slots(p, v).empty());
      CHECK(p == synthetic_loop(knobs_of(ops, seed)));
      texts.insert(problem_text(p));
    }
    if (ops >= 5) CHECK(texts.size() == 4);
  }
}

TEST_CASE("the knobs of synthetic loops: width, recurrences, longest, pressure") {
  SyntheticLoop knobs = knobs_of(100, 3);
  // Sources come from the last 2 * width ops, so the reach of an edge is bounded by it.
  for (const int width : {2, 5, 20}) {
    knobs.width = width;
    const Problem p = synthetic_loop(knobs);
    for (const Edge& e : p.edges)
      if (e.distance == 0) {
        CHECK(e.to - e.from >= 1);
        CHECK(e.to - e.from <= 2 * width);
      }
  }
  knobs = knobs_of(100, 3);
  knobs.recurrences = 0;
  CHECK(carried(synthetic_loop(knobs)) == 0);
  knobs.recurrences = 8;
  CHECK(carried(synthetic_loop(knobs)) > 0);
  CHECK(carried(synthetic_loop(knobs)) <= 8);
  knobs.longest = 50;
  Cycle longest = 0;
  for (const Op& op : synthetic_loop(knobs).ops) longest = std::max(longest, op.cycles);
  CHECK(longest > 25);
  CHECK(longest <= 50);
  const auto registers = [&](int pressure) {
    knobs.pressure = pressure;
    return synthetic_loop(knobs).warps.front().registers;
  };
  CHECK(registers(100) <= registers(50));
  CHECK(registers(50) < registers(0));
}

TEST_CASE("whether a synthetic loop reaches its bounds differs from seed to seed") {
  int at_bound = 0, above = 0, none = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SyntheticLoop knobs = knobs_of(10, seed);
    knobs.pressure = 95;
    const Problem p = synthetic_loop(knobs);
    const Solution solution = solve(p);
    none += solution.status == Status::infeasible;
    if (solution.status == Status::infeasible) continue;
    REQUIRE(solution.status == Status::optimal);
    const Cycle bound = lower_bounds(p).front().value;
    const Cycle ii = solution.schedule->initiation_interval;
    ++(ii == bound ? at_bound : above);
    CHECK(ii <= 3 * bound);  // near it
  }
  CAPTURE(at_bound);
  CHECK(at_bound >= 4);
  CAPTURE(none);
  CHECK(above >= 4);
  CHECK(none < 20);
}

TEST_CASE("knobs of synthetic loops out of range are refused") {
  const auto refused = [](auto change) {
    SyntheticLoop knobs;
    change(knobs);
    CHECK_THROWS_AS(synthetic_loop(knobs), InputError);
  };
  refused([](SyntheticLoop& k) { k.ops = 0; });
  refused([](SyntheticLoop& k) { k.ops = kMaxOps + 1; });
  refused([](SyntheticLoop& k) { k.width = 0; });
  refused([](SyntheticLoop& k) { k.recurrences = -1; });
  refused([](SyntheticLoop& k) { k.slots = 0; });
  refused([](SyntheticLoop& k) { k.longest = 0; });
  refused([](SyntheticLoop& k) { k.pressure = -1; });
}

}  // namespace synthetic_test
