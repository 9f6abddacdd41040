// Ranges of cycles against solving with every number of them.
#include "engine/explain/sensitivity.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/random_loop.hpp"

namespace sensitivity_test {

using namespace twill;
using namespace twill::test;

namespace {

std::optional<Cycle> smallest(const Problem& problem) {
  const Solution solution = solve(problem);
  if (!solution.schedule) return std::nullopt;
  return solution.schedule->initiation_interval;
}

}  // namespace

TEST_CASE("ranges of tiny loops") {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  knobs.multi_segment = false;
  int ends = 0, open = 0, lower = 0, roles = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, knobs);
    const Solution best = solve(problem);
    if (!best.schedule) continue;
    const Cycle ii = best.schedule->initiation_interval;
    const auto same_slots = [&](const Problem& changed) {
      Options options;
      options.ii = ii;
      for (std::size_t v = 0; v < problem.ops.size(); ++v)
        options.pins.emplace_back(
            problem.ops[v].id,
            problem.warps[static_cast<std::size_t>(best.schedule->warp[v])].name);
      return solve(changed, options).schedule.has_value();
    };
    for (const OpSensitivity& range : sensitivity(problem, *best.schedule)) {
      const int v = range.op;
      const Cycle now = problem.ops[static_cast<std::size_t>(v)].cycles;
      CAPTURE(v);
      CHECK(range.decided);
      CHECK(range.least <= now);
      for (Cycle cycles = 1; cycles <= 4 * std::max(ii, now); ++cycles) {
        CAPTURE(cycles);
        const Problem changed = with_cycles(problem, v, cycles);
        const auto found = smallest(changed);
        const bool inside = cycles >= range.least && (!range.most || cycles <= *range.most);
        CHECK((found == ii) == inside);
        const bool inside_slots =
            cycles >= range.least && (!range.most_with_slots || cycles <= *range.most_with_slots);
        CHECK((found == ii && same_slots(changed)) == inside_slots);
      }
      ends += range.most.has_value();
      open += !range.most;
      lower += range.least > 1;
      roles += range.most != range.most_with_slots;
    }
  }
  CHECK(ends > 40);
  CHECK(open > 0);
  CHECK(lower > 5);
  CHECK(roles > 0);
}

TEST_CASE("what takes longer keeps the shape of its reservations and delays") {
  Problem p;
  p.name = "p";
  p.units = {{"U", 1}};
  p.warps = {{"w", 1, 0, false}};
  Op op;
  op.id = "a";
  op.cycles = 4;
  op.reservations = {{0, 0, 2, 1}};
  p.ops = {op};
  p.edges = {{0, 0, 3, 1, false, 0}};
  const Problem longer = with_cycles(p, 0, 6);
  CHECK(longer.ops[0].cycles == 6);
  CHECK(longer.ops[0].reservations[0].length == 3);
  CHECK(longer.edges[0].delay == 5);
  CHECK(with_cycles(p, 0, 4) == p);
  const Problem shortest = with_cycles(p, 0, 1);
  CHECK(shortest.ops[0].reservations[0].length == 1);
  CHECK(shortest.edges[0].delay == 1);
}

}  // namespace sensitivity_test
