// The register split as a decision, against every split of small pools, and on attention.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/certificate/certificate.hpp"
#include "engine/include/twill.hpp"
#include "graph/lowering/machine.hpp"
#include "tests/support/random_pool.hpp"
#include "tests/support/streaming.hpp"
#include "tests/support/temporary_directory.hpp"

namespace register_split_test {

using namespace twill;
using namespace twill::test;

namespace {

using Value = std::pair<Cycle, Cycle>;
constexpr Value kNone{kMaxInterval, 0};

Value value_of(const Solution& solution) {
  if (!solution.schedule) return kNone;
  return {solution.schedule->initiation_interval, solution.schedule->length};
}

Lowered lowered(const std::string& kernel, const std::string& machine, const std::string& layout) {
  LowerOptions options = streaming_loads(false);
  options.layout = layout;
  options.choose_registers = true;
  return lower(builtin_kernel(kernel, machine), kernel, builtin_machine(machine), machine, options)
      .front();
}

}  // namespace

TEST_CASE("random loops: as good as the best of all splits") {
  LoopKnobs knobs;
  knobs.min_ops = 3;
  knobs.max_ops = 6;
  knobs.max_memories = 0;
  knobs.max_slots = 4;
  knobs.max_registers = 5;
  int compared = 0, several = 0, better = 0, none = 0, branched = 0;
  for (std::uint64_t seed = 1; seed <= 220; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Problem problem = random_loop(seed, knobs);
    const RegisterPool pool = random_pool(problem, random);
    problem = with_counts(problem, pool, most(pool));
    const std::vector<RegisterCounts> splits = all_splits(pool);
    REQUIRE_FALSE(splits.empty());
    if (splits.size() > 200) continue;
    ++compared;
    Options options;
    options.explain = false;
    if (random.percent(30)) options.engine = "time_indexed";
    Value best = kNone, worst{0, 0};
    for (const RegisterCounts& counts : splits) {
      for (std::size_t s = 0; s < counts.size(); ++s) CHECK(counts[s] <= most_of(pool, s));
      const Value value = value_of(solve(with_counts(problem, pool, counts), options));
      best = std::min(best, value);
      worst = std::max(worst, value);
    }
    const SplitSolution found = solve_split(problem, pool, options);
    REQUIRE(value_of(found.solution) == best);
    if (best == kNone) {
      CHECK(found.solution.status == Status::infeasible);
      ++none;
      continue;
    }
    CHECK(found.solution.status == Status::optimal);
    CHECK(Value{found.solution.ii_lower_bound, found.solution.length_lower_bound} == best);
    CHECK(is_split(pool, found.counts));
    CHECK(found.problem == with_counts(problem, pool, found.counts));
    CHECK_FALSE(verify(found.problem, *found.solution.schedule).has_value());
    CHECK(found.solution.problem_sha256 == sha256(problem_text(found.problem)));
    // Nothing is left that a warpgroup could have.
    for (std::size_t s = 0; s < found.counts.size(); ++s) {
      RegisterCounts more = found.counts;
      more[s] += pool.granule;
      CHECK_FALSE(is_split(pool, more));
    }
    several += best < worst ? 1 : 0;
    branched += found.asked > 2 ? 1 : 0;
    better += best < value_of(solve(with_counts(problem, pool,
                                                RegisterCounts(found.counts.size(), pool.launch)),
                                    options))
                  ? 1
                  : 0;
    // A schedule as good as the best is wanted, and one better than it.
    options.better_than = best;
    CHECK(solve_split(problem, pool, options).solution.status == Status::infeasible);
    ++options.better_than->second;
    CHECK(value_of(solve_split(problem, pool, options).solution) == best);
  }
  CHECK(compared > 170);
  CHECK(several > 50);
  CHECK(better > 25);
  CHECK(branched > 3);
  CHECK(none > 25);
}

TEST_CASE("pools of the built-in layouts") {
  const RegisterPool two = *lowered("hopper-fwd-sub2", "hopper", "2x4").pool;
  REQUIRE(two.shares.size() == 3);
  CHECK(two.shares[0].slots == std::vector{0, 1});
  CHECK(two.launch == 168);  // 3 x 128 x 168 = 64,512 of 65,536
  CHECK(two.resident == 24);
  CHECK(is_split(two, {24, 240, 240}));
  CHECK_FALSE(is_split(two, {32, 240, 240}));
  CHECK_FALSE(is_split(two, {24, 244, 232}));
  CHECK_FALSE(is_split(two, {24, 248, 232}));
  const RegisterPool mixed = *lowered("hopper-fwd-plain", "hopper", "8+4").pool;
  CHECK(mixed.launch == 128);
  CHECK(mixed.shares[1].warpgroups == 2);
  CHECK(most_of(mixed, 1) == 232);  // 512 - 2 x 24, over two warpgroups
  CHECK(most_of(mixed, 2) == 240);
  const Problem& problem = lowered("hopper-fwd-plain", "hopper", "8+4").problem;
  CHECK(problem.warps[2].registers == 232 - 24);
  CHECK(problem.warps[0].registers == 216);  // of the producers, had the others the least
}

TEST_CASE("hopper-fwd-sub2: 24, 240 and 240 a thread, as people chose") {
  const Lowered loop = lowered("hopper-fwd-sub2", "hopper", "2x4");
  Options options;
  options.goals = {"slots"};
  options.evidence = true;
  const SplitSolution found = solve_split(loop.problem, *loop.pool, options);
  REQUIRE(found.solution.schedule.has_value());
  CHECK(value_of(found.solution) == Value{2048, 3072});
  CHECK(found.solution.status == Status::optimal);
  REQUIRE(found.solution.goals.size() == 1);
  const auto option = [&](const std::string& name) {
    for (const auto& [key, value] : found.solution.options)
      if (key == name) return value;
    return std::string("absent");
  };
  CHECK(option("registers") == "auto");
  CHECK(option("registers at launch") == "168");
  CHECK(option("setmaxnreg load + aux") == std::to_string(found.counts[0]) + " gross, " +
                                               std::to_string(found.counts[0] - 24) + " net");
  const TemporaryDirectory directory;
  write_certificate(directory / "c", found.problem, found.solution);
  CHECK(check_certificate(directory / "c").refusal == "");
}

TEST_CASE("attention: better than the machine file's counts, or no split is") {
  struct Row {
    std::string kernel, machine, layout;
    Value fixed, chosen;
  };
  for (const Row& row :
       {Row{"hopper-bwd-sub2", "hopper", "1x8", {5891, 7106}, {5891, 7106}},
        Row{"blackwell-fwd-plain", "blackwell", "softmax-correction", {1728, 4480}, {1472, 3968}},
        Row{"blackwell-fwd-sub2", "blackwell", "softmax-correction", {2436, 4678}, {2064, 4112}}}) {
    CAPTURE(row.kernel);
    const Lowered loop = lowered(row.kernel, row.machine, row.layout);
    RegisterCounts counts;
    for (const RegisterPool::Share& share : loop.pool->shares) counts.push_back(share.layout);
    CHECK(value_of(solve(with_counts(loop.problem, *loop.pool, counts))) == row.fixed);
    const SplitSolution found = solve_split(loop.problem, *loop.pool);
    CHECK(value_of(found.solution) == row.chosen);
    CHECK(is_split(*loop.pool, found.counts));
    // What is written is a problem like any other, with that optimum.
    const Problem read = parse_problem(problem_text(found.problem), "written");
    CHECK(value_of(solve(read)) == row.chosen);
    CHECK_FALSE(verify(read, *found.solution.schedule).has_value());
  }
}

TEST_CASE("a search that is stopped has the best so far, and bounds for all splits") {
  const Lowered loop = lowered("blackwell-fwd-sub2", "blackwell", "softmax-correction");
  Options options;
  options.conflict_limit = 20;
  options.threads = 1;
  const SplitSolution found = solve_split(loop.problem, *loop.pool, options);
  CHECK((found.solution.status == Status::feasible || found.solution.status == Status::unknown));
  CHECK(found.solution.ii_lower_bound <= 2064);
  CHECK(found.solution.ii_lower_bound > 0);
  CHECK(cut_short(found.solution.stop));
  if (found.solution.schedule)
    CHECK_FALSE(verify(found.problem, *found.solution.schedule).has_value());
}

TEST_CASE("pools that are not a loop's") {
  const Lowered loop = lowered("hopper-fwd-sub2", "hopper", "2x4");
  RegisterPool pool = *loop.pool;
  pool.shares.pop_back();
  CHECK_THROWS_AS(solve_split(loop.problem, pool), InputError);
  pool = *loop.pool;
  pool.shares[0].slots.push_back(9);
  CHECK_THROWS_AS(solve_split(loop.problem, pool), InputError);
  pool = *loop.pool;
  pool.launch = 16;
  CHECK_THROWS_AS(solve_split(loop.problem, pool), InputError);
  pool = *loop.pool;
  Options options;
  options.stages = "paper";
  CHECK_THROWS_AS(solve_split(loop.problem, pool, options), InputError);
  LowerOptions choose;
  choose.choose_registers = true;
  try {
    lower(builtin_kernel("figure-1"), "figure-1", builtin_machine("figure-1"), "figure-1", choose);
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.place() == "/register_file");
  }
}

}  // namespace register_split_test
