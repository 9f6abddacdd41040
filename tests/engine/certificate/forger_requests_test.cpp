// Genuine refutations, with lemmas and proofs, of formulas that leave schedules out: what they
// prove of other formulas is refused (tests/support/forger.hpp).
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "engine/certificate/certificate.hpp"
#include "engine/order/incremental_solver.hpp"
#include "engine/search.hpp"
#include "graph/bounds/automorphism.hpp"
#include "graph/restriction.hpp"
#include "tests/support/forger.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_directory.hpp"

namespace forger_requests_test {

using namespace twill;
using namespace twill::test;

namespace {

OrderRequest forged_request(const Problem& problem, Cycle ii, Random& random) {
  OrderRequest o;
  o.ii_low = o.ii_high = ii;
  const auto some = [&](int percent) { return random.percent(percent); };
  if (some(40)) o.ii_low = random.range(1, ii);
  if (some(30)) o.ii_high = ii + random.range(0, 5);
  if (some(50)) o.stages = random.range(0, 6);
  if (some(40)) o.pinned = static_cast<int>(random.range(0, std::ssize(problem.ops) - 1));
  if (some(30)) o.share = random.range(1, 20);
  o.at_once = some(50);
  o.handover = !some(20);
  if (some(30)) {
    o.exchange = exchangeable_ops(problem);
    if (o.exchange.empty() || some(40)) {  // two ops that differ
      o.exchange.resize(problem.ops.size());
      for (std::size_t v = 0; v < o.exchange.size(); ++v) o.exchange[v] = static_cast<int>(v);
      std::swap(o.exchange.front(), o.exchange.back());
    }
    if (some(30)) o.further_exchanges = {o.exchange};  // no chain
  }
  if (some(40)) o.full_units.ii = std::max<Cycle>(1, ii + random.range(-3, 1));  // of another I
  return o;
}

/// A loop, in some with an op pinned to a slot, in a fifth with one pinned to a cycle that some
/// schedule has it at.
Problem loop_to_lie_about(std::uint64_t seed, Random& random) {
  LoopKnobs knobs;
  knobs.multi_segment = random.percent(20);
  knobs.max_channels = seed % 3 == 0 ? 2 : 0;
  knobs.flight = seed % 2 == 0;
  Problem problem = random.percent(25)   ? beside_itself(random_loop(seed, knobs))
                    : random.percent(25) ? ring_loop(seed, knobs)
                                         : random_loop(seed, knobs);
  const int w = static_cast<int>(random.range(0, std::ssize(problem.warps) - 1));
  if (random.percent(15) && slot_allowed(problem, 0, w))
    problem.pins.push_back({Pin::on_slot, 0, w, -1, -1});
  if (!random.percent(20)) return problem;
  const Solution best = solve(problem);
  const int v = static_cast<int>(random.range(0, std::ssize(problem.ops) - 1));
  if (best.schedule)
    problem.pins.push_back({Pin::at_cycle, v, -1,
                            best.schedule->start[static_cast<std::size_t>(v)] + random.range(0, 1),
                            -1});
  return problem;
}

/// A schedule of more cycles than `length`: an op that nothing waits for starts iterations later.
std::optional<Schedule> longer(const Problem& problem, Schedule schedule, Cycle length) {
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    if (std::any_of(problem.edges.begin(), problem.edges.end(),
                    [&](const Edge& e) { return e.from == static_cast<int>(v); }))
      continue;
    while (schedule_length(problem, schedule.start) <= length)
      schedule.start[v] += schedule.initiation_interval;
    schedule.length = schedule_length(problem, schedule.start);
    if (!verify(problem, schedule)) return schedule;
    return std::nullopt;
  }
  return std::nullopt;
}

/// What a forger sets out to prove of a loop, and whether it is true.
struct Lie {
  Solution said;        ///< with the bound that is to be proved
  Cycle ii = 1;         ///< of the refutation
  Cycle deadline = -1;  ///< likewise
  GoalLimits limits = {};
  Options asked = {};
  bool truth = false;
};

std::optional<Lie> lie_about(const Problem& problem, Random& random) {
  Lie lie;
  lie.asked.handover = !random.percent(15);
  lie.asked.explain = false;
  const Solution best = solve(problem, lie.asked);
  if (!best.schedule) return std::nullopt;
  const auto at = [&](Cycle ii, const char* goal) {
    Options only = lie.asked;
    only.ii = ii;
    if (goal != nullptr) only.goals = {goal};
    return solve(problem, only);
  };
  const auto say = [&](const Schedule& schedule) {
    lie.said = said_of(problem, Status::feasible, schedule);
    lie.said.ii_lower_bound = 1;
    for (const auto& [name, value] : best.options)
      if (name == "handover" || name == kRestrictionOption)
        lie.said.options.emplace_back(name, value);
    lie.said.max_stages = std::max(lie.said.max_stages, stage_count(schedule));
  };
  lie.ii = std::max<Cycle>(1, best.schedule->initiation_interval + random.range(-1, 2));
  if (random.percent(40)) {  // no schedule has I < ii + 1
    const Solution next = at(lie.ii + 1, nullptr);
    if (!next.schedule) return std::nullopt;
    say(*next.schedule);
    lie.said.ii_lower_bound = lie.ii + 1;
    lie.truth = !at(lie.ii, nullptr).schedule;
    return lie;
  }
  const Solution same = at(lie.ii, nullptr);
  if (!same.schedule) return std::nullopt;
  if (random.percent(50)) {  // nor one at ii a length below deadline + 1
    lie.deadline = std::max<Cycle>(0, same.schedule->length + random.range(-1, 4));
    lie.truth = same.schedule->length > lie.deadline;
    const auto found = longer(problem, *same.schedule, lie.deadline);
    if (!found) return std::nullopt;
    say(*found);
    lie.said.length_lower_bound = lie.deadline + 1;
    return lie;
  }
  const std::string op = problem.ops[0].id;
  const std::string goals[] = {
      "slots",   "crossings",   "lifetime",   "rings",  "registers",
      "issuers", "start:" + op, "slot:" + op, "spills", "3*slots+2*crossings"};
  const std::string goal = goals[random.range(0, std::ssize(goals) - 1)];
  const Solution least = at(lie.ii, goal.c_str());
  if (least.goals.empty()) return std::nullopt;
  const std::int64_t has = goal_value(problem, *same.schedule, parse_goal(problem, goal));
  const std::int64_t most = least.goals[0].value + random.range(-1, 1);
  if (most < 0 || has <= most) return std::nullopt;
  say(*same.schedule);
  lie.deadline = same.schedule->length;
  lie.limits = {{goal, most}};
  lie.said.goals = {{goal, has, most + 1}};
  lie.truth = least.goals[0].value > most;
  return lie;
}

/// A refutation of the request, by the order engine, or none.
std::shared_ptr<Evidence> refuted(const Problem& problem, const Lie& lie, OrderRequest request) {
#ifndef NDEBUG
  // The encoders assert what they take for granted. This lie is for builds without asserts.
  if (!request.exchange.empty() && !problem.pins.empty()) return nullptr;
#endif
  const LimitedProblem within = limit_problem(problem, lie.limits);
  const EncodingChoice choice;
  Budget budget({}, 0, 20'000, 0);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  auto evidence = std::make_shared<Evidence>(std::nullopt);
  Search search{within.problem, choice, 0, budget, report, order_engine()};
  search.evidence = evidence.get();
  search.placement.limits = request.limits = within.placement;
  search.goals = lie.limits;
  try {
    order::IncrementalSolver question(search, std::move(request));
    if (question.ask(lie.ii, std::max<Cycle>(lie.deadline, 0)).verdict != Verdict::unsat)
      return nullptr;
  } catch (const std::logic_error&) {
    return nullptr;  // a model that verify() refuses: of another formula than the problem's
  } catch (const Budget::Spent&) {
    return nullptr;
  }
  return evidence;
}

}  // namespace

TEST_CASE("a refutation of a formula that leaves schedules out proves nothing") {
  const std::uint64_t loops = 20 * number_from("TWILL_FORGERIES", 150 / kShare);
  const std::uint64_t first = number_from("TWILL_FORGERY_SEED", 1);
  int proved = 0, honest = 0, lies = 0;
  for (std::uint64_t seed = first; seed < first + loops; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Problem problem = loop_to_lie_about(seed, random);
    auto lie = lie_about(problem, random);
    if (!lie) continue;
    OrderRequest request = forged_request(problem, lie->ii, random);
    request.deadline = lie->deadline >= 0;
    if (!lie->limits.empty() && random.percent(80)) request.ii_low = request.ii_high = lie->ii;
    if (lie->deadline >= 0 && random.percent(60)) request.stages = lie->deadline / lie->ii + 1;
    if (lie->limits.size() == 1 && lie->limits[0].first == "lifetime" && request.stages == 0)
      request.stages = 1;  // the searcher cannot do without
    lie->said.evidence = refuted(problem, *lie, std::move(request));
    if (!lie->said.evidence) continue;
    ++proved;
    lies += lie->truth ? 0 : 1;
    const TemporaryDirectory directory;
    try {
      write_certificate(directory / "c", problem, lie->said);
    } catch (const InputError&) {
      continue;  // it does not even claim it
    }
    const std::string said = verdict(directory / "c");
    CAPTURE(said);
    if (lie->truth)
      honest += said == "accepted" ? 1 : 0;
    else
      CHECK(said != "accepted");
  }
  MESSAGE("refutations of forged requests: ", proved, ", of what is false: ", lies,
          ", true claims accepted: ", honest);
#ifdef NDEBUG
  CHECK(lies > static_cast<int>(loops / 60));
#else
  CHECK(lies > static_cast<int>(loops / 60));
#endif
  CHECK(honest > static_cast<int>(loops / 60));
}

}  // namespace forger_requests_test
