// The goal slack: both engines against every schedule of tiny loops, certificates of both sides,
// and what it does not go with.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "encoders/goals.hpp"
#include "engine/certificate/certificate.hpp"
#include "engine/include/twill.hpp"
#include "graph/slack.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_directory.hpp"

namespace slack_test {

using namespace twill;
using namespace twill::test;

namespace {

std::size_t nth(int v) {
  return static_cast<std::size_t>(v);
}

/// Counted the other way round: how much later may every result come, all at once?
Cycle counted(const Problem& problem, const Schedule& s) {
  for (Cycle slack = 0; slack < s.initiation_interval; ++slack)
    for (const Edge& e : problem.edges) {
      if (problem.ops[nth(e.from)].streaming) continue;
      Cycle ready = s.start[nth(e.from)] + e.delay + slack + 1;
      if (s.warp[nth(e.from)] != s.warp[nth(e.to)]) ready += problem.ops[nth(e.from)].spill;
      if (ready > s.start[nth(e.to)] + e.distance * s.initiation_interval) return slack;
    }
  return s.initiation_interval;
}

/// The largest slack, with it the smallest length, then the fewest crossings, of all schedules at
/// I whose ops start by `latest`; slack -1 = there is none.
std::tuple<Cycle, Cycle, Cycle> best_of_all(const Problem& p, Cycle ii, Cycle latest) {
  const std::size_t n = p.ops.size();
  std::tuple<Cycle, Cycle, Cycle> best{1, 0, 0};
  Schedule s{ii, 0, std::vector<Cycle>(n, 0), std::vector<int>(n, 0)};
  for (;;) {
    s.length = schedule_length(p, s.start);
    // The slack is cheap, the rules are not.
    const Cycle slack = counted(p, s);
    if (-slack <= std::get<0>(best) && !broken_rule(p, s)) {
      const Cycle crossings = std::count_if(p.edges.begin(), p.edges.end(), [&](const Edge& e) {
        return s.warp[nth(e.from)] != s.warp[nth(e.to)];
      });
      best = std::min(best, std::tuple<Cycle, Cycle, Cycle>{-slack, s.length, crossings});
    }
    std::size_t v = 0;
    for (; v < n; ++v) {
      if (++s.warp[v] < static_cast<int>(p.warps.size())) break;
      s.warp[v] = 0;
      if (++s.start[v] <= latest) break;
      s.start[v] = 0;
    }
    if (v == n) return best;
  }
}

}  // namespace

TEST_CASE("slack of tiny loops against every schedule, both engines, both sides certified") {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  knobs.max_cycles = 2;
  knobs.max_slots = 2;
  int compared = 0, more = 0, longer = 0, certified = 0, none = 0;
  for (std::uint64_t seed = 1; seed <= 3000 / test::kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, knobs);
    Options options;
    options.goals = {"slack", "crossings"};
    const Solution plain = solve(problem);
    const Solution solution = solve(problem, options);
    CHECK(solution.status == plain.status);
    if (!solution.schedule) continue;
    REQUIRE(solution.goals.size() == 2);
    const Schedule& s = *solution.schedule;
    const Cycle ii = s.initiation_interval, slack = -solution.goals[0].value;
    CHECK(ii == plain.schedule->initiation_interval);
    CHECK(solution.goals[0].lower_bound == -slack);
    CHECK(solution.length_lower_bound == s.length);
    CHECK(counted(problem, s) == slack);
    CHECK(least_slack(problem, s) == slack);
    CHECK(!verify(problem, s));
    CHECK(slack >= counted(problem, *plain.schedule));
    more += slack > counted(problem, *plain.schedule) ? 1 : 0;
    longer += s.length > plain.schedule->length ? 1 : 0;
    // No schedule has more to spare: the other engine says so, and a certificate.
    if (slack < ii) {
      Options ask;
      ask.ii = ii;
      ask.engine = "time_indexed";
      ask.explain = false;
      ask.evidence = seed % 8 == 0;
      const Problem sturdier = with_slack(problem, slack + 1);
      const Solution no = solve(sturdier, ask);
      CHECK(no.status == Status::infeasible);
      ++none;
      if (ask.evidence) {
        const TemporaryDirectory directory;
        write_certificate(directory / "c", sturdier, no);
        CHECK(check_certificate(directory / "c").refusal == "");
        ++certified;
      }
    }
    Options other = options;
    other.engine = "time_indexed";
    const Solution cnf = solve(problem, other);
    CHECK(cnf.goals[0].value == -slack);
    CHECK(cnf.schedule->length == s.length);
    CHECK(cnf.goals[1].value == solution.goals[1].value);
    // Every schedule, a little longer than the one found.
    const Cycle latest = std::max(s.length, plain.schedule->length) + 1;
    double space = 1;
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      space *= static_cast<double>((latest + 1) * static_cast<Cycle>(problem.warps.size()));
    if (space > 60'000) continue;
    ++compared;
    const std::tuple<Cycle, Cycle, Cycle> found{-slack, s.length, solution.goals[1].value};
    CHECK(best_of_all(problem, ii, latest) == found);
  }
  MESSAGE(compared << " compared with every schedule; " << more << " with more slack, " << longer
                   << " longer for it; " << none << " refutations, " << certified << " certified");
  CHECK(compared > 1000 / test::kShare);
  CHECK(more > 300 / test::kShare);
  CHECK(longer > 200 / test::kShare);
  CHECK(certified > 50 / test::kShare);
}

TEST_CASE("slack comes first, and without certificate, whole time or inner loops") {
  LoopKnobs knobs;
  knobs.streaming = false;
  std::uint64_t seed = 1;
  while (random_loop(seed, knobs).edges.empty()) ++seed;
  const Problem problem = random_loop(seed, knobs);
  const auto refused = [&](const Options& options) {
    try {
      solve(problem, options);
    } catch (const InputError& error) {
      return error.rule();
    }
    return std::string();
  };
  Options options;
  options.goals = {"slots", "slack"};
  CHECK(refused(options) == "must be the first goal: it comes before L");
  options.goals = {"slack"};
  options.evidence = true;
  CHECK(refused(options).find("twill lower --slack K") != std::string::npos);
  options.evidence = false;
  options.iterations = 4;
  CHECK(refused(options).find("comes before L") != std::string::npos);
  CHECK_THROWS_AS(with_slack(with_slack(problem, kMaxCycles / 2), kMaxCycles), InputError);
}

TEST_CASE("a conflict limit leaves a bound, and a schedule that is one") {
  int open = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.max_ops = 12;
    knobs.min_ops = 8;
    const Problem problem = random_loop(seed, knobs);
    Options options;
    options.goals = {"slack"};
    const Solution whole = solve(problem, options);
    options.conflict_limit = 15;
    const Solution cut = solve(problem, options);
    if (!cut.schedule || cut.goals.empty() || !whole.schedule) continue;
    CHECK(!verify(problem, *cut.schedule));
    CHECK(cut.goals[0].value == -least_slack(problem, *cut.schedule));
    CHECK(cut.goals[0].lower_bound <= whole.goals[0].value);
    CHECK(cut.goals[0].value >= whole.goals[0].value);
    open += cut.goals[0].lower_bound < cut.goals[0].value ? 1 : 0;
  }
  MESSAGE(open << " left open");
}

}  // namespace slack_test
