// Unrolled loops, and loops beside copies of themselves: schedules of the loop that they are made
// of, and copies that may change places.
#include "engine/order/copies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "graph/bounds/automorphism.hpp"
#include "graph/index.hpp"
#include "graph/unroll.hpp"
#include "graph/verify.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/same_answer.hpp"
#include "tests/support/search_bench.hpp"

namespace copies_test {

using namespace twill;
using namespace twill::test;

namespace {

LoopKnobs few_ops() {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  return knobs;
}

Options by(const std::string& engine, const std::string& encoding = "") {
  Options options;
  options.engine = engine;
  options.encoding = encoding;
  options.threads = 1;
  options.explain = false;
  return options;
}

Problem without_names(Problem problem) {
  problem.name.clear();
  for (Op& op : problem.ops) op.id = op.kind = "";
  std::sort(problem.edges.begin(), problem.edges.end(), [](const Edge& a, const Edge& b) {
    return std::tuple(a.from, a.to, a.delay, a.distance, a.blocking, a.hold, a.spill) <
           std::tuple(b.from, b.to, b.delay, b.distance, b.blocking, b.hold, b.spill);
  });
  return problem;
}

/// Four times, side by side.
Problem four_of(const Problem& one) {
  Problem four = beside_itself(beside_itself(one));
  for (std::size_t v = 0; v < four.ops.size(); ++v) four.ops[v].id = "v" + std::to_string(v);
  return four;
}

}  // namespace

TEST_CASE("what a loop was unrolled from is found, whatever its ops are called") {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const Problem loop = random_loop(seed, few_ops());
    if (!loop.pins.empty() || !loop.inner_loops.empty()) continue;
    for (const int copies : {2, 3, 4}) {
      Problem problem = unrolled(loop, copies);
      const auto from = rolled(problem);
      REQUIRE(from);
      CHECK(from->copies == (copies == 3 && from->copies == 3 ? 3 : 2));
      CHECK(without_names(unrolled(from->loop, from->copies)) == without_names(problem));
      ++found;
      if (copies == 4) continue;
      ++problem.ops.back().cycles;  // one copy is slower
      if (const auto other = rolled(problem))
        CHECK(without_names(unrolled(other->loop, other->copies)) == without_names(problem));
      problem.ops.back().cycles -= 1;
      if (problem.edges.empty()) continue;
      problem.edges.front().delay += 1'000;
      CHECK_FALSE(rolled(problem));
    }
  }
  CHECK(found > 500);
}

TEST_CASE("every copy does what a schedule does of the loop") {
  int kept = 0, broken = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const Problem loop = random_loop(seed, few_ops());
    if (!loop.pins.empty() || !loop.inner_loops.empty()) continue;
    const Solution best = solve(loop, by("order"));
    if (!best.schedule) continue;
    const int copies = 2 + static_cast<int>(seed % 3);
    const Problem problem = unrolled(loop, copies);
    const Schedule all = repeated(problem, {loop, copies}, *best.schedule);
    const auto violation = verify(problem, all);
    // Only what unroll.hpp says can be broken.
    if (violation) CHECK((violation->rule == "concurrency" || violation->rule == "memory"));
    ++(violation ? broken : kept);
  }
  CHECK(kept > 50);
}

TEST_CASE("by copies: schedules of the unrolled loop, verified, and shorter ones") {
  int found = 0, shortened = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const Problem loop = random_loop(seed, few_ops());
    if (!loop.pins.empty() || !loop.inner_loops.empty()) continue;
    const Problem problem = unrolled(loop, seed % 2 == 0 ? 4 : 2);
    SearchBench bench(problem);
    const auto from = order::rolled_of(bench.search);
    REQUIRE(from);
    const auto all = order::by_copies(bench.search, *from);
    if (!all) continue;
    ++found;
    CHECK_FALSE(verify(problem, *all));
    const Solution best = solve(from->loop, by("order"));
    REQUIRE(best.schedule);
    CHECK(all->initiation_interval == from->copies * best.schedule->initiation_interval);
    // A stage of the first op later, all are longer.
    Schedule longer = *all;
    for (Cycle& start : longer.start) start += longer.initiation_interval;
    longer.length = schedule_length(problem, longer.start);
    if (verify(problem, longer)) continue;
    const auto shorter = order::shorter_by_copies(bench.search, *from, longer);
    if (!shorter) continue;
    ++shortened;
    CHECK_FALSE(verify(problem, *shorter));
    CHECK(shorter->initiation_interval == longer.initiation_interval);
    CHECK(shorter->length < longer.length);
    ++longer.initiation_interval;  // no whole number of cycles for each copy
    CHECK_FALSE(order::shorter_by_copies(bench.search, *from, longer));
  }
  CHECK(found > 50);
  CHECK(shortened > 50);
  // Where more than the problem says what a schedule must be, nothing is asked of copies.
  const Problem problem = unrolled(random_loop(2, few_ops()), 2);
  SearchBench bench(problem);
  bench.search.stage_limit = 3;
  CHECK_FALSE(order::rolled_of(bench.search));
}

TEST_CASE("unrolled loops: the same I and L by both engines, and no worse than each copy alike") {
  int solved = 0;
  for (std::uint64_t seed = 5'000; seed < 5'120; ++seed) {
    CAPTURE(seed);
    const Problem loop = random_loop(seed, few_ops());
    if (!loop.pins.empty() || !loop.inner_loops.empty()) continue;
    const Problem problem = unrolled(loop, 2 + static_cast<int>(seed % 2));
    const Solution order = solve(problem, by("order"));
    const Solution cycles = solve(problem, by("time_indexed"));
    solved += same_answers(order, {&cycles}) ? 1 : 0;
  }
  CHECK(solved > 40);
}

TEST_CASE("four loops beside each other: three exchanges bring them into any order") {
  int chains = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const Problem one = random_loop(seed, few_ops());
    if (!one.pins.empty() || !one.inner_loops.empty() || !exchangeable_ops(one).empty()) continue;
    const Problem four = four_of(one);
    const std::vector<int> first = exchangeable_ops(four);
    REQUIRE_FALSE(first.empty());
    int op = 0;
    while (first[at(op)] == op) ++op;
    auto exchanges = exchanges_from(four, first, op);
    const std::vector<int> chain = exchange_chain(four, exchanges, op);
    REQUIRE(chain.size() == exchanges.size() + 1);
    chains += chain.size() == 4 ? 1 : 0;
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      CHECK(is_exchange(four, exchanges[i]));
      for (std::size_t j = 0; j < chain.size(); ++j)
        CHECK(exchanges[i][at(chain[j])] == chain[j == i ? i + 1 : j == i + 1 ? i : j]);
    }
    // The same exchange twice, and one that takes the first op along, are no chain.
    CHECK(exchange_chain(four, std::vector{first, first}, op).empty());
    if (exchanges.size() > 1) {
      std::swap(exchanges.front(), exchanges.back());
      CHECK(exchange_chain(four, exchanges, op).empty());
    }
  }
  CHECK(chains > 100);
}

TEST_CASE("three and four loops beside each other: the same I and L however symmetry is treated") {
  int solved = 0;
  for (std::uint64_t seed = 7'000; seed < 7'060; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs = few_ops();
    knobs.max_ops = 3;
    const Problem one = random_loop(seed, knobs);
    const Problem four = four_of(one);
    const Solution broken = solve(four, by("order"));
    const Solution kept = solve(four, by("order", "symmetry=off"));
    const Solution cycles = solve(four, by("time_indexed"));
    solved += same_answers(broken, {&kept, &cycles}) ? 1 : 0;
  }
  CHECK(solved > 20);
}

}  // namespace copies_test
