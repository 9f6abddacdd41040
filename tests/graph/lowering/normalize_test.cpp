// Cost normalisation against enumeration of every C'.
#include "graph/lowering/normalize.hpp"

#include <doctest/doctest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <tuple>

#include "graph/bounds/channel_bounds.hpp"
#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/lower.hpp"
#include "graph/wide.hpp"
#include "tests/support/attention_loop.hpp"
#include "tests/support/random_loop.hpp"

namespace normalize_test {

using namespace twill;
using namespace twill::test;

namespace {

/// max |c_i x_j - c_j x_i|
Cycle paper_f(const std::vector<Cycle>& c, const std::vector<Cycle>& x) {
  Cycle f = 0;
  for (std::size_t i = 0; i < c.size(); ++i)
    for (std::size_t j = 0; j < c.size(); ++j) f = std::max(f, std::abs(c[i] * x[j] - c[j] * x[i]));
  return f;
}

struct Ratio {
  Cycle n = 0, d = 1;
  bool operator<(const Ratio& o) const { return n * o.d < o.n * d; }
};

/// max |(x_i / x_j) / (c_i / c_j) - 1|, exactly
Ratio largest_ratio_error(const std::vector<Cycle>& c, const std::vector<Cycle>& x) {
  Ratio worst;
  for (std::size_t i = 0; i < c.size(); ++i)
    for (std::size_t j = 0; j < c.size(); ++j)
      worst = std::max(worst, Ratio{std::abs(x[i] * c[j] - x[j] * c[i]), x[j] * c[i]});
  return worst;
}

/// The best C' by trying all: objective, then the largest sum, then lexicographically largest.
template <class Objective>
std::vector<Cycle> by_enumeration(const std::vector<Cycle>& c, Cycle budget,
                                  const Objective& objective) {
  std::vector<Cycle> best, x(c.size(), 1);
  std::function<void(std::size_t, Cycle)> fill = [&](std::size_t i, Cycle left) {
    if (i == c.size()) {
      const auto sum = [](const std::vector<Cycle>& v) {
        return std::accumulate(v.begin(), v.end(), Cycle{0});
      };
      if (best.empty() || objective(c, x) < objective(c, best) ||
          (!(objective(c, best) < objective(c, x)) &&
           std::tuple(sum(x), x) > std::tuple(sum(best), best)))
        best = x;
      return;
    }
    const Cycle rest = static_cast<Cycle>(c.size() - i) - 1;
    for (x[i] = 1; x[i] + rest <= left; ++x[i]) fill(i + 1, left - x[i]);
  };
  fill(0, budget);
  return best;
}

std::vector<Cycle> random_costs(Random& random, std::size_t most, Cycle largest) {
  std::vector<Cycle> costs;
  const auto size = static_cast<std::size_t>(random.range(1, static_cast<std::int64_t>(most)));
  while (costs.size() < size) {
    const Cycle c = random.range(1, largest);
    if (std::find(costs.begin(), costs.end(), c) == costs.end()) costs.push_back(c);
  }
  std::sort(costs.begin(), costs.end(), std::greater<>());
  return costs;
}

}  // namespace

TEST_CASE("both objectives and all ties agree with enumeration") {
  Random random(1);
  int ties = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<Cycle> costs = random_costs(random, 4, round % 3 == 0 ? 6 : 60);
    const int budget = static_cast<int>(costs.size()) +
                       static_cast<int>(random.range(0, costs.size() > 3 ? 9 : 18));
    CAPTURE(round);
    CAPTURE(budget);
    const Normalization f = normalize_costs(costs, budget, NormalizeObjective::absolute);
    CHECK(f.before == costs);
    CHECK(f.after == by_enumeration(costs, budget, paper_f));
    CHECK(absolute_error(f) == paper_f(costs, f.after));
    const Normalization r = normalize_costs(costs, budget, NormalizeObjective::relative);
    CHECK(r.after == by_enumeration(costs, budget, largest_ratio_error));
    ties += f.after != r.after;
    double worst = 0;
    for (const RatioError& e : ratio_errors(r)) worst = std::max(worst, std::abs(e.error));
    const Ratio exact = largest_ratio_error(costs, r.after);
    CHECK(worst == doctest::Approx(static_cast<double>(exact.n) / static_cast<double>(exact.d)));
  }
  CHECK(ties > 100);  // the two objectives differ
}

TEST_CASE("compiler-like lists: many costs, no enumeration, still within the budget") {
  Random random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<Cycle> costs;
    while (costs.size() < 60) costs.push_back(random.range(1, 5000));
    for (const auto objective : {NormalizeObjective::absolute, NormalizeObjective::relative}) {
      const Normalization n = normalize_costs(costs, 600, objective);
      CHECK(n.after_sum <= 600);
      CHECK(*std::min_element(n.after.begin(), n.after.end()) >= 1);
      CHECK(std::is_sorted(n.after.rbegin(), n.after.rend()));
    }
  }
}

TEST_CASE("the result does not depend on the number of threads") {
  Random random(3);
  for (int round = 0; round < 30; ++round) {
    const std::vector<Cycle> costs = random_costs(random, 9, 4000);
    const Normalization many = normalize_costs(costs, 150, NormalizeObjective::absolute);
    const oneapi::tbb::global_control one(oneapi::tbb::global_control::max_allowed_parallelism, 1);
    CHECK(normalize_costs(costs, 150, NormalizeObjective::absolute).after == many.after);
  }
}

TEST_CASE("known values and refusals") {
  // Proportional costs are kept exactly, at the largest multiple that fits.
  CHECK(normalize_costs({1024, 512, 512}, 300, NormalizeObjective::absolute).after ==
        std::vector<Cycle>{200, 100});
  CHECK(normalize_costs({7}, 300, NormalizeObjective::relative).after == std::vector<Cycle>{300});
  CHECK(normalize_costs({}, 0, NormalizeObjective::absolute).after.empty());
  CHECK(normalize_costs({5, 3, 2}, 3, NormalizeObjective::absolute).after ==
        std::vector<Cycle>{1, 1, 1});
  CHECK_THROWS_AS(normalize_costs({5, 3, 2}, 2, NormalizeObjective::absolute), InputError);
  CHECK_THROWS_AS(normalize_costs({5}, -1, NormalizeObjective::relative), InputError);
  // Extremes stay in range.
  const Normalization n =
      normalize_costs({1'000'000'000, 999'999'999, 1}, 1000, NormalizeObjective::relative);
  CHECK(n.after == std::vector<Cycle>{500, 499, 1});
}

TEST_CASE("a normalised problem") {
  Problem problem;
  problem.cycle_unit = 2;
  problem.units = {{"U", 1}};
  problem.warps = {{"w", 1, 0, false}};
  problem.ops.resize(3);
  problem.ops[0] = {"a", "", 1000, {{0, 0, 1000, 1}}, 0, {}, 500, 1, false, false};
  problem.ops[1] = {"b", "", 500, {{0, 0, 1, 1}, {0, 300, 200, 1}}, 0, {}, 1, 1, false, false};
  problem.ops[2] = {"view", "", 0, {}, 0, {}, 0, 1, false, false};
  problem.edges = {{0, 1, 1000, 0, false, 0}, {1, 2, 301, 1, true, 500}, {2, 0, 0, 1, false, 1}};
  std::vector<NormalizedCost> costs;
  const Problem n = normalize_problem(problem, 20, false, &costs);
  REQUIRE(costs.size() == 2);  // 1000 and 500 once each: 12 + 6 = 18, with F = 0
  CHECK(costs[0].before == 1000);
  CHECK(costs[0].after == 12);
  CHECK(costs[1].after == 6);
  CHECK(n.ops[0].cycles == 12);
  CHECK(n.ops[0].reservations == std::vector<Reservation>{{0, 0, 12, 1}});
  CHECK(n.ops[0].spill == 6);  // ceil(500 * 18 / 1500)
  // 300 -> ceil(3.6) = 4, 200 -> ceil(2.4) = 3, clipped to 6 - 4
  CHECK(n.ops[1].reservations == std::vector<Reservation>{{0, 0, 1, 1}, {0, 4, 2, 1}});
  CHECK(n.ops[1].spill == 1);
  CHECK(n.ops[2].cycles == 0);
  CHECK(n.edges[0].delay == 12);
  CHECK(n.edges[1].delay == 4);
  CHECK(n.edges[1].hold == 6);
  CHECK(n.edges[1].blocking);
  CHECK(n.edges[2].delay == 0);
  CHECK(n.edges[2].hold == 1);
  CHECK(n.cycle_unit == doctest::Approx(2.0 * 1500 / 18));
}

TEST_CASE("a channel's rate is that of the new cycles, and never less") {
  Problem problem;
  problem.warps = {{"w", 1, 0, false}};
  problem.ops.resize(2);
  problem.ops[0] = {"a", "", 1000, {}, 0, {}, 0, 1, false, false};
  problem.ops[1] = {"b", "", 500, {}, 0, {}, 0, 1, false, false};
  problem.channels = {{"bus", {128, 1}}, {"odd", {7, 3}}};
  problem.ops[0].traffic = {{0, {200'000, 1}}, {1, {5, 2}}};
  const Problem n = normalize_problem(problem, 20, false);
  CHECK(n.channels == std::vector<Channel>{{"bus", {32'000, 3}}, {"odd", {1'750, 9}}});
  CHECK(n.ops[0].traffic == problem.ops[0].traffic);
  CHECK(least_by_channels(problem) == 1563);
  CHECK(least_by_channels(n) == 19);  // 18.75

  // Where the new rate has too many digits it is rounded, up.
  Random random(5);
  int rounded = 0;
  for (int i = 0; i < 500; ++i) {
    CAPTURE(i);
    const Amount most = random.percent(50) ? 1'000 : kMaxAmount;
    problem.channels[0].rate = {random.range(most / 2, most), random.range(most / 2, most)};
    problem.ops[0].cycles = random.range(1, 999'983);
    problem.ops[0].traffic[0].amount = {random.range(1, 100'000), 1};
    std::vector<NormalizedCost> costs;
    const Problem other = normalize_problem(problem, 97, false, &costs);
    CHECK_NOTHROW(check(other));
    Cycle before = 0, after = 0;
    for (const NormalizedCost& cost : costs) {
      before += cost.before;
      after += cost.after;
    }
    const Fraction was = problem.channels[0].rate, is = other.channels[0].rate;
    const auto size = [](const Fraction& f) {
      return static_cast<double>(f.numerator) / static_cast<double>(f.denominator);
    };
    const Wide exact = Wide{was.numerator} * before * is.denominator,
               has = Wide{is.numerator} * after * was.denominator;
    CHECK(has >= exact);
    rounded += has > exact;
    CHECK(size(is) ==
          doctest::Approx(size(was) * static_cast<double>(before) / static_cast<double>(after)));
  }
  CHECK(rounded > 100);
  CHECK(rounded < 400);
}

TEST_CASE("segments that were apart do not come to overflow their unit") {
  Problem problem;
  problem.units = {{"U", 1}};
  problem.warps = {{"w", 1, 0, false}};
  problem.ops.resize(2);
  problem.ops[0] = {"long", "", 4000, {}, 0, {}, 0, 1, false, false};
  problem.ops[1] = {"split", "", 4, {{0, 0, 1, 1}, {0, 3, 1, 1}}, 0, {}, 0, 1, false, false};
  const Problem n = normalize_problem(problem, 10, false);
  CHECK(n.ops[1].cycles == 1);
  CHECK(n.ops[1].reservations == std::vector<Reservation>{{0, 0, 1, 1}});
  CHECK_NOTHROW(check(n));
}

TEST_CASE("normalised problems pass check() and keep what is zero") {
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    LoopKnobs knobs;
    knobs.max_cycles = 40;
    knobs.max_channels = 2;
    knobs.flight = true;
    const Problem problem = random_loop(seed, knobs);
    CAPTURE(seed);
    for (const bool relative : {false, true}) {
      const Problem n = normalize_problem(problem, 12, relative);
      CHECK_NOTHROW(check(n));
      for (std::size_t v = 0; v < n.ops.size(); ++v) {
        CHECK((n.ops[v].cycles == 0) == (problem.ops[v].cycles == 0));
        CHECK((n.ops[v].spill == 0) == (problem.ops[v].spill == 0));
      }
      for (std::size_t e = 0; e < n.edges.size(); ++e)
        CHECK((n.edges[e].delay == 0) == (problem.edges[e].delay == 0));
      changed += !(n == problem);
    }
  }
  CHECK(changed > 500);
}

}  // namespace normalize_test
