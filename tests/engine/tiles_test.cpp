// The best choice of tiles: against a separate solve of every choice, for random kernels with
// parameters and for random loops; limits, threads, goals, register splits.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/include/twill.hpp"
#include "graph/lower.hpp"
#include "graph/tiles.hpp"
#include "graph/wide.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/random_tiles.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_directory.hpp"

namespace tiles_test {

using namespace twill;
using namespace twill::test;

namespace {

/// The answer by separate solves: none = no choice has a schedule.
struct Oracle {
  std::optional<std::size_t> best;
  std::vector<std::optional<std::pair<Cycle, Cycle>>> optima;  ///< I and L of each choice
};

Oracle by_hand(const std::vector<TileChoice>& choices) {
  Oracle oracle;
  for (std::size_t k = 0; k < choices.size(); ++k) {
    oracle.optima.emplace_back();
    if (!choices[k].lowered) continue;
    Options options;
    options.threads = 1;
    const Solution solution = solve(choices[k].lowered->problem, options);
    if (!solution.schedule) {
      CHECK(solution.status == Status::infeasible);
      continue;
    }
    REQUIRE(solution.status == Status::optimal);
    oracle.optima[k] = {solution.schedule->initiation_interval, solution.schedule->length};
    if (!oracle.best) {
      oracle.best = k;
      continue;
    }
    const auto [i, l] = *oracle.optima[k];
    const auto [j, m] = *oracle.optima[*oracle.best];
    const Wide own = choices[k].work, other = choices[*oracle.best].work;
    const bool shorter = i * other == j * own && l * other < m * own;
    if (i * other < j * own || shorter) oracle.best = k;
  }
  return oracle;
}

/// Counts of what outcomes there were, by kind.
using Counts = std::vector<int>;

void compare(const std::vector<TileChoice>& choices, const TilesSolution& tiles,
             const Oracle& oracle, Counts& counts) {
  REQUIRE(tiles.status == (oracle.best ? Status::optimal : Status::infeasible));
  REQUIRE(tiles.chosen == oracle.best);
  REQUIRE(tiles.outcomes.size() == choices.size());
  for (std::size_t k = 0; k < choices.size(); ++k) {
    CAPTURE(k);
    const TileOutcome& outcome = tiles.outcomes[k];
    ++counts[static_cast<std::size_t>(outcome.closed)];
    CHECK(outcome.closed != TileOutcome::open);
    CHECK((outcome.closed == TileOutcome::misfit) == !choices[k].lowered.has_value());
    CHECK((outcome.closed == TileOutcome::best) == (k == oracle.best));
    if (outcome.closed == TileOutcome::none) CHECK(!oracle.optima[k]);
    // What is said to be proved holds, and is enough.
    if (oracle.optima[k] && outcome.closed != TileOutcome::covered) {
      CHECK(std::pair(outcome.ii_bound, outcome.length_bound) <= *oracle.optima[k]);
      const auto [i, l] = *oracle.optima[*oracle.best];
      const Amount best = choices[*oracle.best].work, own = choices[k].work;
      const int ratio = compare_ratios(outcome.ii_bound, own, i, best);
      const int length = compare_ratios(outcome.length_bound, own, l, best);
      CHECK((ratio > 0 || (ratio == 0 && (length > 0 || (length == 0 && k >= *oracle.best)))));
    }
    if (outcome.solution && outcome.solution->schedule) {
      const Schedule& schedule = *outcome.solution->schedule;
      CHECK_FALSE(verify(choices[k].lowered->problem, schedule));
      CHECK(std::pair(schedule.initiation_interval, schedule.length) == *oracle.optima[k]);
    }
  }
}

/// Random loops as choices, some of them the same loop on slots with more or fewer registers.
std::vector<TileChoice> random_choices(std::uint64_t seed) {
  Random random(seed);
  LoopKnobs knobs;
  knobs.max_ops = 4;
  knobs.max_channels = seed % 3 == 0 ? 1 : 0;
  knobs.flight = seed % 2 == 0;
  std::vector<TileChoice> choices;
  const std::int64_t combinations = random.range(1, 5);
  for (std::int64_t c = 0; c < combinations; ++c) {
    const Problem loop = random_loop(seed * 16 + static_cast<std::uint64_t>(c), knobs);
    const Amount work = random.range(1, 4) * random.range(1, 3);
    const std::int64_t layouts = random.range(1, 3);
    for (std::int64_t l = 0; l < layouts; ++l) {
      TileChoice choice{{{"c", std::to_string(c)}}, work, "l" + std::to_string(l), {}, ""};
      if (random.percent(10)) {
        choice.misfit = "it is too large";
      } else {
        choice.lowered.emplace();
        choice.lowered->layout = choice.layout;
        choice.lowered->problem = loop;
        for (WarpSlot& slot : choice.lowered->problem.warps)
          slot.registers = std::max<Amount>(0, slot.registers + random.range(-2, 2));
      }
      choices.push_back(std::move(choice));
    }
  }
  return choices;
}

}  // namespace

TEST_CASE("random kernels with parameters: as by separate solves, certified") {
  Counts counts(8, 0);
  for (std::uint64_t seed = 1; seed <= 300 / kShare; ++seed) {
    CAPTURE(seed);
    const std::string kernel = random_tile_kernel(seed);
    const std::vector<TileChoice> choices = lower_tiles(kernel, "k", kTileMachine, "m");
    // Each combination is what lower() makes of its values.
    for (const TileChoice& choice : choices) {
      LowerOptions options;
      options.values = choice.values;
      options.layout = choice.layout;
      try {
        const auto alone = lower(kernel, "k", kTileMachine, "m", options);
        REQUIRE(choice.lowered);
        CHECK(alone.front().problem == choice.lowered->problem);
      } catch (const InputError&) {
        CHECK_FALSE(choice.lowered);
      }
    }
    const Oracle oracle = by_hand(choices);
    Options options;
    options.threads = 1;
    compare(choices, solve_tiles(choices, options), oracle, counts);
    if (seed % 5 != 0) continue;
    options.evidence = true;
    const TilesSolution tiles = solve_tiles(choices, options);
    compare(choices, tiles, oracle, counts);
    const TemporaryDirectory directory;
    write_tiles_certificate(directory / "c", tiles, {kernel, kTileMachine, {}});
    const CertificateReport report = check_certificate(directory / "c");
    CHECK(report.refusal == "");
    CHECK(report.accepted);
  }
  for (const TileOutcome::Closed closed :
       {TileOutcome::misfit, TileOutcome::by_bound, TileOutcome::refuted, TileOutcome::covered})
    CHECK(counts[static_cast<std::size_t>(closed)] > 20 / kShare);
}

TEST_CASE("random loops as choices: not monotone in I, channels, flight") {
  Counts counts(8, 0);
  int none = 0;
  for (std::uint64_t seed = 1; seed <= 400 / kShare; ++seed) {
    CAPTURE(seed);
    const std::vector<TileChoice> choices = random_choices(seed);
    Options options;
    options.threads = 1;
    const Oracle oracle = by_hand(choices);
    compare(choices, solve_tiles(choices, options), oracle, counts);
    none += oracle.best ? 0 : 1;
    if (seed % 4 != 0) continue;
    options.evidence = true;  // no layout is left out for another
    compare(choices, solve_tiles(choices, options), oracle, counts);
  }
  CHECK(none > 3 / kShare);
  for (const int count : {counts[TileOutcome::none], counts[TileOutcome::refuted],
                          counts[TileOutcome::beaten], counts[TileOutcome::covered]})
    CHECK(count > 10 / kShare);
}

TEST_CASE("ratios are exact") {
  CHECK(compare_ratios(1, 3, 2, 6) == 0);
  CHECK(compare_ratios(kMaxInterval, kMaxAmount, kMaxInterval - 1, kMaxAmount) == 1);
  CHECK(compare_ratios(kMaxInterval, kMaxAmount, kMaxInterval, kMaxAmount - 1) == -1);
  CHECK(compare_ratios(kMaxStart, kMaxAmount, kMaxStart - 1, kMaxAmount - 1) == -1);
}

TEST_CASE("the same answer with any number of threads; limits leave choices open") {
  const std::string kernel = builtin_kernel("fmha-backward-tiles", "hopper");
  const auto choices = [&] {
    return lower_tiles(kernel, "k", builtin_machine("hopper"), "hopper");
  };
  Options options;
  options.threads = 1;
  const TilesSolution one = solve_tiles(choices(), options);
  options.threads = 4;
  const TilesSolution four = solve_tiles(choices(), options);
  REQUIRE(one.status == Status::optimal);
  CHECK(one.chosen == four.chosen);
  CHECK(*one.solution().schedule == *four.solution().schedule);
  CHECK(one.solution().options.back() == std::pair<std::string, std::string>{"tile T", "f16"});
  options.conflict_limit = 1;
  const TilesSolution little = solve_tiles(choices(), options);
  CHECK(little.status != Status::optimal);
  CHECK(little.stop == Stop::conflict_limit);
  CHECK(std::any_of(little.outcomes.begin(), little.outcomes.end(),
                    [](const TileOutcome& o) { return o.closed == TileOutcome::open; }));
  std::stop_source source;
  source.request_stop();
  options.conflict_limit = 0;
  const TilesSolution stopped = solve_tiles(choices(), options, source.get_token());
  CHECK(stopped.stop == Stop::interrupt);
  CHECK_FALSE(stopped.chosen);
  const TemporaryDirectory directory;
  CHECK_THROWS_AS(
      write_tiles_certificate(directory / "c", little, {kernel, builtin_machine("hopper"), {}}),
      InputError);
  CHECK(directory.entries() == 0);
}

TEST_CASE("goals after the choice; what is refused") {
  const std::vector<TileChoice> choices =
      lower_tiles(builtin_kernel("hopper-mlp-tiles"), "k", builtin_machine("hopper"), "hopper");
  Options options;
  const TilesSolution without = solve_tiles(choices, options);
  options.goals = {"slots", "handovers"};
  const TilesSolution tiles = solve_tiles(choices, options);
  CHECK(tiles.chosen == without.chosen);
  REQUIRE(tiles.solution().goals.size() == 2);
  CHECK(tiles.solution().goals[0].lower_bound == tiles.solution().goals[0].value);
  options.ii = 5;
  CHECK_THROWS_AS(solve_tiles(choices, options), InputError);
  options.ii.reset();
  options.stages = "paper";
  CHECK_THROWS_AS(solve_tiles(choices, options), InputError);
  CHECK_THROWS_AS(solve_tiles({}, {}), InputError);
}

TEST_CASE("register splits are chosen with the tiles: as by separate solves, certified") {
  const std::string machine = builtin_machine("hopper");
  for (const char* const name : {"hopper-grouped-gemm-tiles", "hopper-mlp-tiles"}) {
    const std::string kernel = builtin_kernel(name);
    LowerOptions lowering;
    lowering.choose_registers = true;
    const std::vector<TileChoice> choices = lower_tiles(kernel, "k", machine, "hopper", lowering);
    Options options;
    options.evidence = true;
    const TilesSolution tiles = solve_tiles(choices, options);
    REQUIRE(tiles.status == Status::optimal);
    const auto [ii, length] = std::pair(tiles.solution().schedule->initiation_interval,
                                        tiles.solution().schedule->length);
    for (std::size_t k = 0; k < choices.size(); ++k) {
      if (!choices[k].lowered) continue;
      const SplitSolution split =
          solve_split(choices[k].lowered->problem, *choices[k].lowered->pool);
      if (!split.solution.schedule) continue;
      const Schedule& schedule = *split.solution.schedule;
      const int ratio =
          compare_ratios(schedule.initiation_interval, choices[k].work, ii, tiles.choice().work);
      const int longer =
          compare_ratios(schedule.length, choices[k].work, length, tiles.choice().work);
      CHECK((ratio > 0 || (ratio == 0 && (longer > 0 || (longer == 0 && k >= *tiles.chosen)))));
    }
    const TemporaryDirectory directory;
    write_tiles_certificate(directory / "c", tiles, {kernel, machine, lowering});
    const CertificateReport report = check_certificate(directory / "c");
    CHECK(report.refusal == "");
    CHECK(report.accepted);
  }
}

}  // namespace tiles_test
