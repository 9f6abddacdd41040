// Longest paths, components and the stage bound against their definitions.
#include "graph/loop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "graph/bounds/stage_bound.hpp"
#include "tests/support/attention_loop.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

namespace loop_test {

using namespace twill;
using namespace twill::test;

namespace {

constexpr Cycle kNone = kUnreachable;

/// All-pairs longest paths by definition of Floyd and Warshall; empty when a cycle is positive.
std::vector<std::vector<Cycle>> all_pairs(const Problem& problem, Cycle ii) {
  const std::size_t n = problem.ops.size();
  std::vector<std::vector<Cycle>> d(n, std::vector<Cycle>(n, kNone));
  for (std::size_t v = 0; v < n; ++v) d[v][v] = 0;
  for (const Edge& e : problem.edges) {
    Cycle& entry = d[static_cast<std::size_t>(e.from)][static_cast<std::size_t>(e.to)];
    entry = std::max(entry, e.delay - e.distance * ii);
  }
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (d[i][k] != kNone && d[k][j] != kNone) d[i][j] = std::max(d[i][j], d[i][k] + d[k][j]);
  for (std::size_t v = 0; v < n; ++v)
    if (d[v][v] > 0) return {};
  return d;
}

LoopKnobs medium() {
  LoopKnobs knobs;
  knobs.max_ops = 9;
  knobs.max_cycles = 7;
  return knobs;
}

}  // namespace

TEST_CASE("earliest and latest starts are the longest paths") {
  int positive = 0, fine = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const Problem problem = random_loop(seed, medium());
    const std::size_t n = problem.ops.size();
    const Cycle ii = 1 + static_cast<Cycle>(seed % 5), length = 20;
    CAPTURE(seed);
    const auto paths = all_pairs(problem, ii);
    const auto earliest = earliest_starts(problem, ii);
    const auto latest = latest_starts(problem, ii, length);
    CHECK(earliest.has_value() == !paths.empty());
    CHECK(latest.has_value() == !paths.empty());
    const std::vector<int> cycle = positive_cycle(problem, ii);
    CHECK(cycle.empty() == !paths.empty());
    if (paths.empty()) {
      ++positive;
      Cycle gain = 0;
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        const Edge& edge = problem.edges[static_cast<std::size_t>(cycle[i])];
        const Edge& next = problem.edges[static_cast<std::size_t>(cycle[(i + 1) % cycle.size()])];
        CHECK(edge.to == next.from);
        gain += edge.delay - edge.distance * ii;
      }
      CHECK(gain > 0);
      continue;
    }
    ++fine;
    for (std::size_t v = 0; v < n; ++v) {
      Cycle first = 0, last = length - problem.ops[v].cycles;
      for (std::size_t u = 0; u < n; ++u) {
        if (paths[u][v] != kNone) first = std::max(first, paths[u][v]);
        if (paths[v][u] != kNone)
          last = std::min(last, length - problem.ops[u].cycles - paths[v][u]);
      }
      CHECK((*earliest)[v] == first);
      CHECK((*latest)[v] == last);
    }
    CHECK(longest_paths_from(problem, 0, ii) == paths[0]);
  }
  CHECK(positive > 200);
  CHECK(fine > 200);
}

TEST_CASE("extra delays replace the edges' own") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Problem problem = random_loop(seed, medium());
    const std::vector<Cycle> delays = forced_delays(problem);
    const auto with_span = earliest_starts(problem, 6, delays);
    for (std::size_t e = 0; e < delays.size(); ++e) problem.edges[e].delay = delays[e];
    CHECK(with_span == earliest_starts(problem, 6));
  }
}

TEST_CASE("components and topological order") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Problem problem = random_loop(seed, medium());
    const std::size_t n = problem.ops.size();
    Problem loose = problem;  // every cycle may be run through for nothing
    for (Edge& e : loose.edges) e.delay = 0;
    const auto reach = all_pairs(loose, 1);
    REQUIRE(!reach.empty());
    const Components strong = strongly_connected_components(problem);
    for (std::size_t u = 0; u < n; ++u)
      for (std::size_t v = 0; v < n; ++v)
        CHECK((strong.of[u] == strong.of[v]) == (reach[u][v] != kNone && reach[v][u] != kNone));
    for (const Edge& e : problem.edges)
      CHECK(strong.of[static_cast<std::size_t>(e.to)] <=
            strong.of[static_cast<std::size_t>(e.from)]);
    const std::vector<int> order = topological_order(problem);
    REQUIRE(order.size() == n);
    const auto position = [&](int v) { return std::find(order.begin(), order.end(), v); };
    for (const Edge& e : problem.edges)
      if (e.distance == 0) CHECK(position(e.from) < position(e.to));
  }
}

TEST_CASE("B(I) stages are enough, also for the shortest length") {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  knobs.max_slots = 2;
  knobs.max_distance = 3;
  int compared = 0, deep = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const Problem problem = random_loop(seed, knobs);
    for (Cycle ii = 1; ii <= 4; ++ii) {
      const Cycle stages = stage_bound(problem, ii);
      if (stages * ii > 24) continue;
      const auto more = brute_force_at(problem, ii, stages + 3);
      if (!more) continue;
      CAPTURE(seed);
      CAPTURE(ii);
      const auto enough = brute_force_at(problem, ii, stages);
      REQUIRE(enough.has_value());
      CHECK(enough->length == more->length);
      ++compared;
      const auto fewer = stages > 1 ? brute_force_at(problem, ii, stages - 1) : enough;
      deep += !fewer || fewer->length > enough->length;
    }
  }
  CHECK(compared > 1000);
  CHECK(deep > 20);  // B(I) - 1 would be wrong here: the bound is tight now and then
}

TEST_CASE("stage bounds of attention loops") {
  struct Known {
    std::string name;
    Cycle ii, stages;
  };
  for (const Known& k : {Known{"hopper-fwd-plain", 2729, 25}, Known{"hopper-bwd", 2946, 27},
                         Known{"hopper-bwd-sub2", 5891, 51}}) {
    const Problem problem = attention_loop(TWILL_TEST_DATA, k.name);
    INFO(k.name);
    CHECK(stage_bound(problem, k.ii) == k.stages);
    CHECK(modulo_stage_bound(problem, k.ii) <= k.stages);
  }
}

}  // namespace loop_test
