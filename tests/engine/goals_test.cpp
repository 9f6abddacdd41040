// Secondary goals: both engines against every schedule of tiny loops, certificates of goals, and
// attention.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encoders/goals.hpp"
#include "engine/certificate/certificate.hpp"
#include "engine/certificate/evidence.hpp"
#include "engine/include/twill.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/forgery.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/streaming.hpp"
#include "tests/support/temporary_directory.hpp"

namespace goals_test {

using namespace twill;
using namespace twill::test;

namespace {

/// The measures counted cycle by cycle, for the comparison with goal_value().
std::int64_t counted(const Problem& p, const Schedule& s, const std::string& goal) {
  const auto at = [&](int v) { return static_cast<std::size_t>(v); };
  if (const std::size_t plus = goal.rfind('+'); plus != std::string::npos)
    return counted(p, s, goal.substr(0, plus)) + counted(p, s, goal.substr(plus + 1));
  if (const std::size_t times = goal.find('*'); times != std::string::npos)
    return std::stoll(goal.substr(0, times)) * counted(p, s, goal.substr(times + 1));
  if (goal == "spills") {
    std::int64_t cycles = 0;
    for (const Edge& e : p.edges)
      cycles += s.warp[at(e.from)] == s.warp[at(e.to)] ? 0 : p.ops[at(e.from)].spill;
    return cycles;
  }
  if (goal == "slots")
    return static_cast<std::int64_t>(std::set(s.warp.begin(), s.warp.end()).size());
  if (goal == "handovers" || goal == "crossings") {
    std::int64_t count = 0;
    for (const Edge& e : p.edges)
      if (s.warp[at(e.from)] != s.warp[at(e.to)] &&
          (goal == "crossings" || p.ops[at(e.from)].spill > 0))
        ++count;
    return count;
  }
  if (goal.starts_with("issuers")) {
    std::set<std::pair<int, int>> pairs;
    for (std::size_t v = 0; v < p.ops.size(); ++v)
      for (const Reservation& r : p.ops[v].reservations)
        if (goal == "issuers" || goal == "issuers:" + p.units[at(r.unit)].name)
          pairs.emplace(r.unit, s.warp[v]);
    return static_cast<std::int64_t>(pairs.size());
  }
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    if (goal == "start:" + p.ops[v].id) return s.start[v];
    if (goal == "slot:" + p.ops[v].id) return s.warp[v];
  }
  if (goal == "lifetime") {
    std::int64_t sum = 0;
    for (std::size_t u = 0; u < p.ops.size(); ++u)
      for (Cycle t = s.start[u];; ++t) {
        const auto later = [&](const Edge& e) {
          return at(e.from) == u &&
                 t < s.start[at(e.to)] + e.distance * s.initiation_interval + e.hold;
        };
        if (std::none_of(p.edges.begin(), p.edges.end(), later)) break;
        ++sum;
      }
    return sum;
  }
  std::int64_t most = 0;
  for (const auto& [load, depth] : ring_depths(p, s))
    if (goal == "rings" || goal == "ring:" + load) most = std::max(most, depth);
  if (goal.starts_with("ring")) return most;
  const auto peak = [&](const auto& amount_of) {
    for (Cycle residue = 0; residue < s.initiation_interval; ++residue) {
      std::int64_t sum = 0;
      for (std::size_t u = 0; u < p.ops.size(); ++u)
        for (Cycle t = s.start[u];; ++t) {
          bool live = false;
          for (const Edge& e : p.edges)
            live = live || (at(e.from) == u &&
                            t < s.start[at(e.to)] + e.distance * s.initiation_interval + e.hold);
          if (!live) break;
          if (t % s.initiation_interval == residue) sum += amount_of(u);
        }
      most = std::max(most, sum);
    }
  };
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w)
    if (goal == "registers" || goal == "registers:" + p.warps[at(w)].name)
      peak([&](std::size_t u) { return s.warp[u] == w ? p.ops[u].registers : 0; });
  for (int m = 0; m < static_cast<int>(p.memories.size()); ++m)
    if (goal == "memory:" + p.memories[at(m)].name) {
      const MemoryCharges charges = memory_charges(p, m);
      peak([&](std::size_t u) { return charges.live[u]; });
      for (const auto& [load, depth] : ring_depths(p, s))
        for (std::size_t u = 0; u < p.ops.size(); ++u)
          if (p.ops[u].id == load) most += depth * charges.ring[u];
    }
  return most;
}

/// The lexicographically smallest values over all schedules at I of a length of at most L.
std::vector<std::int64_t> enumerated(const Problem& p, Cycle ii, Cycle length,
                                     const std::vector<std::string>& goals) {
  const std::size_t n = p.ops.size();
  std::vector<std::int64_t> best;
  Schedule s{ii, 0, std::vector<Cycle>(n, 0), std::vector<int>(n, 0)};
  for (;;) {
    s.length = schedule_length(p, s.start);
    if (s.length <= length && !broken_rule(p, s)) {
      std::vector<std::int64_t> values;
      for (const std::string& goal : goals) values.push_back(counted(p, s, goal));
      if (best.empty() || values < best) best = values;
    }
    std::size_t v = 0;
    for (; v < n; ++v) {
      if (++s.warp[v] < static_cast<int>(p.warps.size())) break;
      s.warp[v] = 0;
      if (++s.start[v] <= length) break;
      s.start[v] = 0;
    }
    if (v == n) return best;
  }
}

Problem attention() {
  LowerOptions options = streaming_loads();
  options.layout = "softmax-correction";
  return lower(builtin_kernel("fmha-forward", "blackwell"), "fmha-forward",
               builtin_machine("blackwell"), "blackwell", options)
      .front()
      .problem;
}

std::vector<std::string> goals_of(const Problem& p, std::uint64_t seed) {
  std::vector<std::string> goals = kDefaultGoals;
  for (const WarpSlot& w : p.warps) goals.push_back("registers:" + w.name);
  for (const Memory& m : p.memories) goals.push_back("memory:" + m.name);
  goals.emplace_back("rings");
  goals.emplace_back("issuers");
  goals.emplace_back("lifetime");
  goals.emplace_back("spills");
  goals.emplace_back("3*slots+2*crossings");
  goals.emplace_back("issuers+spills+4*slots");
  for (const Unit& u : p.units) goals.push_back("issuers:" + u.name);
  for (const Op& op : p.ops)
    if (op.streaming) goals.insert(goals.begin(), "ring:" + op.id);
  Random random(seed);
  for (std::size_t i = goals.size(); i > 1; --i)
    std::swap(goals[i - 1],
              goals[static_cast<std::size_t>(random.range(0, static_cast<Cycle>(i) - 1))]);
  goals.resize(std::min<std::size_t>(goals.size(), 4));
  return goals;
}

struct Compared {
  Solution order;
  int proofs = 0;  // refutations of goals that the two certificates hold
};

/// The goals of both engines against every schedule, their certificates checked. nullopt: there is
/// no schedule, or there are more than `most` starts and slots to try.
std::optional<Compared> compare_with_every_schedule(const Problem& problem, Options options,
                                                    double most) {
  options.evidence = true;
  Compared compared{solve(problem, options)};
  if (!compared.order.schedule) return std::nullopt;
  const Cycle ii = compared.order.schedule->initiation_interval;
  const Cycle length = compared.order.schedule->length;
  double space = 1;
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    space *= static_cast<double>((length + 1) * static_cast<Cycle>(problem.warps.size()));
  if (space > most) return std::nullopt;
  options.engine = "time_indexed";
  const Solution& order = compared.order;
  const Solution cnf = solve(problem, options);
  const std::vector<std::int64_t> expected = enumerated(problem, ii, length, options.goals);
  const TemporaryDirectory directory;
  for (const Solution* solution : {&order, &cnf}) {
    REQUIRE(solution->goals.size() == expected.size());
    CHECK(solution->schedule->initiation_interval == ii);
    CHECK(solution->schedule->length == length);
    for (std::size_t g = 0; g < expected.size(); ++g) {
      CAPTURE(options.goals[g]);
      CHECK(solution->goals[g].name == options.goals[g]);
      CHECK(solution->goals[g].value == expected[g]);
      CHECK(solution->goals[g].lower_bound == expected[g]);
      CHECK(counted(problem, *solution->schedule, options.goals[g]) == expected[g]);
    }
    const std::string path = directory / (solution == &cnf ? "time_indexed" : "order");
    write_certificate(path, problem, *solution);
    const CertificateReport report = check_certificate(path);
    CHECK(report.refusal == "");
    for (const std::string& line : report.proved)
      compared.proofs += line.find("refutation goal-") != std::string::npos ? 1 : 0;
  }
  return compared;
}

}  // namespace

TEST_CASE("goals of tiny loops against every schedule") {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  knobs.max_cycles = 2;
  int compared = 0, proofs = 0;
  for (std::uint64_t seed = 1; seed <= 400 / kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, knobs);
    Options options;
    options.goals = goals_of(problem, seed);
    const auto both = compare_with_every_schedule(problem, options, 40'000);
    if (!both) continue;
    ++compared;
    proofs += both->proofs;
  }
  CHECK(compared > 150 / kShare);
  CHECK(proofs > 100 / kShare);
}

TEST_CASE("goals of tiny loops with charged rings against every schedule") {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  knobs.max_cycles = 2;
  int compared = 0, proofs = 0;
  for (std::uint64_t seed = 1; seed <= 250 / kShare; ++seed) {
    CAPTURE(seed);
    knobs.flight = seed % 2 == 0;
    knobs.max_channels = seed % 3 == 0 ? 1 : 0;
    const Problem problem = ring_loop(seed, knobs);
    Options options;
    options.goals = goals_of(problem, seed);
    if (seed % 2 == 0) options.goals = {"memory:mem0", "ring:op0", "lifetime"};
    const auto both = compare_with_every_schedule(problem, options, 40'000);
    if (!both) continue;
    ++compared;
    proofs += both->proofs;
  }
  CHECK(compared > 80 / kShare);
  CHECK(proofs > 40 / kShare);
}

TEST_CASE("sums of goals: what is read, and what is refused") {
  Problem p;
  p.name = "sums";
  p.units = {{"TC", 1}, {"a", 1}, {"a+issuers:a", 1}};
  p.warps = {{.name = "w0", .width = 1, .registers = 8}};
  p.ops.resize(2);
  p.ops[0].id = "x";
  p.ops[1].id = "y";
  p.ops[0].cycles = p.ops[1].cycles = 1;
  for (int unit = 0; unit < 3; ++unit) p.ops[0].reservations.push_back({unit, 0, 1, 1});
  p.ops[0].spill = 5;
  p.edges = {{.from = 0, .to = 1, .delay = 1}};
  const Solution solution = solve(p);
  REQUIRE(solution.schedule);
  const auto value = [&](const std::string& goal) {
    return goal_value(p, *solution.schedule, parse_goal(p, goal));
  };
  const auto least = [&](const std::string& goal) {
    return least_goal_value(p, parse_goal(p, goal));
  };
  CHECK(value("7*slots") == 7);
  CHECK(value("slots+slots+2*slots") == 4);
  CHECK(value("3*issuers:TC+issuers") == 6);
  CHECK(least("3*issuers:TC+issuers") == 6);
  CHECK(least("9*crossings+slots") == 1);
  // Names of units with signs: the longest that leaves the rest to be read.
  CHECK(value("issuers:a+issuers:a") == 1);
  CHECK(value("2*issuers:a+issuers:a") == 2);
  CHECK(value("slots+issuers:a+issuers:a+slots") == 3);
  std::string many = "issuers:a";
  for (int i = 0; i < 40; ++i) many += "+issuers:a";
  CHECK_THROWS_AS(parse_goal(p, many + "+x"), InputError);
  CHECK(value("issuers:a+issuers:a+issuers:a") >= 2);
  // As two sums, of which the smaller comes first.
  p.warps.push_back({.name = "w1", .width = 1, .registers = 8});
  Options options;
  options.goals = {"2*slots+spills", "crossings"};
  const Solution best = solve(p, options);
  REQUIRE(best.goals.size() == 2);
  CHECK(best.goals[0].value == 2);
  CHECK(best.goals[0].lower_bound == 2);
  for (const char* wrong :
       {"+", "*", "slots+", "+slots", "2*", "0*slots", "1000001*slots",
        "99999999999999999999*slots", "-1*slots", "2*registers", "slots+lifetime", "slots+start:x",
        "2 *slots", "2**slots", "slots+slack", "canonical+slots", "slots*2"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_goal(p, wrong), InputError);
  }
  std::string most = "slots";
  for (std::size_t i = 1; i < kMostParts; ++i) most += "+slots";
  CHECK(value(most) == static_cast<std::int64_t>(kMostParts));
  CHECK_THROWS_AS(parse_goal(p, most + "+slots"), InputError);
  for (Edge& e : p.edges) e.spill = kMaxCycles;
  for (int i = 0; i < 200; ++i) p.edges.push_back(p.edges.front());
  CHECK_THROWS_AS(parse_goal(p, "1000000*spills"), InputError);
  CHECK_NOTHROW(parse_goal(p, "1000*spills"));
}

TEST_CASE("lifetime of tiny loops: least, proved, and its lemmas are checked") {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  knobs.max_slots = 2;
  int compared = 0, proofs = 0, reasons = 0;
  for (std::uint64_t seed = 1; seed <= 400 / kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, knobs);
    Options options;
    options.goals = {"lifetime"};
    if (seed % 3 == 0) options.goals.insert(options.goals.begin(), "registers");
    if (seed % 3 == 1) options.goals.emplace_back("crossings");
    const auto both = compare_with_every_schedule(problem, options, 60'000);
    if (!both) continue;
    ++compared;
    proofs += both->proofs;
    for (const Refutation& r : both->order.evidence->refutations())
      reasons += static_cast<int>(r.lemmas->reasons.size());
  }
  CHECK(compared > 150 / kShare);
  CHECK(proofs > 80 / kShare);
  CHECK(reasons > 80 / kShare);
}

TEST_CASE(
    "lifetime of attention: the least at raw cycles, and what the other engine says of small "
    "ones") {
  const auto sub_tiles = [](const std::string& layout) {
    LowerOptions lowering = streaming_loads();
    lowering.layout = layout;
    return lower(builtin_kernel("hopper-fwd-sub2", "hopper"), "hopper-fwd-sub2",
                 builtin_machine("hopper"), "hopper", lowering)
        .front()
        .problem;
  };
  const Problem problem = sub_tiles("2x4");
  Options options;
  options.goals = {"lifetime"};
  options.evidence = true;
  const Solution first = solve(problem, options);
  REQUIRE(first.goals.size() == 1);
  CHECK(first.goals[0].value == first.goals[0].lower_bound);
  CHECK(counted(problem, *first.schedule, "lifetime") == first.goals[0].value);
  const TemporaryDirectory directory;
  write_certificate(directory / "c", problem, first);
  CHECK(verdict(directory / "c") == "accepted");
  // Without its last step, or a literal, no reason of a lemma about lifetimes adds up.
  const std::string path = directory / "c/proofs/goal-1.lemmas";
  const std::string lemmas = read_file(path);
  int tampered = 0;
  for (std::size_t sum = lemmas.find(" 0 L "); sum != std::string::npos && tampered < 20;
       sum = lemmas.find(" 0 L ", sum + 1)) {
    const std::size_t line = lemmas.rfind('\n', sum) + 1, end = lemmas.find('\n', sum);
    const std::size_t step = lemmas.rfind(' ', end), literal = lemmas.find(' ', line) + 1;
    for (const auto& [from, to] : {std::pair(step, end), std::pair(line, literal)}) {
      write_file(path, lemmas.substr(0, from) + lemmas.substr(to));
      mend_hashes(directory / "c");
      CAPTURE(lemmas.substr(line, end - line));
      CHECK(verdict(directory / "c").find("goal-1.lemmas: line ") != std::string::npos);
      ++tampered;
    }
  }
  CHECK(tampered == 20);
  options.evidence = false;
  for (const std::uint64_t seed : {1U, 2U}) {
    options.seed = seed;
    options.threads = static_cast<int>(seed);
    const Solution other = solve(problem, options);
    CHECK(other.goals[0].value == first.goals[0].value);
    CHECK(other.goals[0].lower_bound == first.goals[0].value);
  }
  options.seed = 0;
  for (const Problem& small : {normalize_problem(attention(), 12, false),
                               normalize_problem(sub_tiles("1x8"), 12, false)}) {
    options.engine = "order";
    options.conflict_limit = 0;
    options.goals.clear();
    Solution cnf = solve(small, options);
    options.goals = {"lifetime"};
    const Solution order = solve(small, options);
    REQUIRE(order.goals.size() == 1);
    CHECK(order.goals[0].lower_bound == order.goals[0].value);
    options.engine = "time_indexed";  // adders: it would take minutes to prove the same
    options.conflict_limit = 3'000;
    pursue_goals(small, options, cnf);
    REQUIRE(cnf.goals.size() == 1);
    CHECK(cnf.goals[0].value >= order.goals[0].value);
    CHECK(cnf.goals[0].lower_bound <= order.goals[0].value);
  }
}

TEST_CASE("canonical: one schedule, the smallest of all, whatever engine and seed") {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  knobs.max_cycles = 2;
  int compared = 0, ties = 0, proofs = 0;
  for (std::uint64_t seed = 1; seed <= 150 / kShare; ++seed) {
    CAPTURE(seed);
    const bool twice = seed % 5 == 0;  // symmetric: identical slots and exchangeable ops
    if (twice) knobs.max_ops = 2;
    const Problem one = random_loop(seed, knobs);
    const Problem problem = twice ? beside_itself(one) : one;
    knobs.max_ops = 3;
    Options options;
    options.goals = {"canonical"};
    options.evidence = true;
    if (seed % 3 == 0) options.goals.insert(options.goals.begin(), "crossings");
    const Solution order = solve(problem, options);
    if (!order.schedule) continue;
    REQUIRE(order.status == Status::optimal);
    double space = 1;
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      space *= static_cast<double>((order.schedule->length + 1) *
                                   static_cast<Cycle>(problem.warps.size()));
    const std::vector<std::string> goals = listed_goals(problem, options.goals);
    if (space <= 40'000) {
      const std::vector<std::int64_t> expected =
          enumerated(problem, order.schedule->initiation_interval, order.schedule->length, goals);
      REQUIRE(order.goals.size() == expected.size());
      for (std::size_t g = 0; g < expected.size(); ++g) {
        CAPTURE(order.goals[g].name);
        CHECK(order.goals[g].value == expected[g]);
        CHECK(order.goals[g].lower_bound == expected[g]);
      }
      ++compared;
    }
    Options plain = options;
    plain.goals.clear();
    ties += *solve(problem, plain).schedule != *order.schedule ? 1 : 0;
    options.engine = "time_indexed";
    const Solution cnf = solve(problem, options);
    CHECK(*cnf.schedule == *order.schedule);
    if (seed <= 60 / kShare) {
      const TemporaryDirectory directory;
      for (const Solution* solution : {&order, &cnf}) {
        const std::string path = directory / (solution == &order ? "order" : "time_indexed");
        write_certificate(path, problem, *solution);
        const CertificateReport report = check_certificate(path);
        CHECK(report.refusal == "");
        for (const std::string& line : report.proved)
          proofs += line.find("refutation goal-") != std::string::npos ? 1 : 0;
      }
    }
    options.evidence = false;
    options.engine = "order";
    for (std::uint64_t other = 1; other <= 2; ++other) {
      options.seed = 1000 * seed + other;
      options.threads = static_cast<int>(other);
      CHECK(*solve(problem, options).schedule == *order.schedule);
    }
  }
  CHECK(compared > 60 / kShare);
  CHECK(ties > 25 / kShare);
  CHECK(proofs > 60 / kShare);
}

TEST_CASE("canonical on attention: seeds and threads") {
  LowerOptions lowering = streaming_loads();
  lowering.layout = "1x8";
  const Problem problem = lower(builtin_kernel("hopper-fwd-plain", "hopper"), "hopper-fwd-plain",
                                builtin_machine("hopper"), "hopper", lowering)
                              .front()
                              .problem;
  Options options;
  options.goals = {"slots", "canonical"};
  const Solution first = solve(problem, options);
  REQUIRE(first.schedule);
  CHECK(first.schedule->initiation_interval == 2729);
  REQUIRE(first.goals.size() == 1 + 2 * problem.ops.size());
  for (const Goal& goal : first.goals) CHECK(goal.value == goal.lower_bound);
  for (const std::uint64_t seed : {1U, 7U}) {
    options.seed = seed;
    options.threads = static_cast<int>(seed) % 3;
    CHECK(*solve(problem, options).schedule == *first.schedule);
  }
  // Cycles normalised, so that every one can be written into clauses.
  const Problem small = normalize_problem(problem, 30, false);
  options.goals = {"canonical"};
  const Solution order = solve(small, options);
  options.engine = "time_indexed";
  const Solution cnf = solve(small, options);
  REQUIRE(order.schedule);
  REQUIRE(cnf.schedule);
  CHECK(*order.schedule == *cnf.schedule);
}

TEST_CASE("loops beside a copy of themselves: exchanging the copies changes no goal") {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 80 / kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = beside_itself(random_loop(seed, knobs));
    Options options;
    options.goals = goals_of(problem, seed);
    options.evidence = true;
    const Solution order = solve(problem, options);
    options.engine = "time_indexed";
    const Solution cnf = solve(problem, options);
    REQUIRE(order.goals.size() == cnf.goals.size());
    for (std::size_t g = 0; g < order.goals.size(); ++g) {
      CAPTURE(order.goals[g].name);
      CHECK(order.goals[g].value == cnf.goals[g].value);
      CHECK(order.goals[g].lower_bound == order.goals[g].value);
      ++compared;
    }
    const TemporaryDirectory directory;
    write_certificate(directory / "c", problem, order);
    CHECK(check_certificate(directory / "c").refusal == "");
  }
  CHECK(compared > 150 / kShare);
}

TEST_CASE("a goal that is claimed better or proved less than it is, is no certificate") {
  const Problem problem = attention();
  Options options;
  options.goals = {"slots", "handovers"};
  options.evidence = true;
  const Solution solution = solve(problem, options);
  REQUIRE(solution.goals.size() == 2);
  const TemporaryDirectory directory;
  Solution forged = solution;
  forged.goals[0].value -= 1;
  CHECK_THROWS_AS(write_certificate(directory / "a", problem, forged), InputError);
  forged = solution;
  forged.goals[0].lower_bound += 1;
  CHECK_THROWS_AS(write_certificate(directory / "b", problem, forged), InputError);
  forged = solution;
  forged.goals[0].name = "crossings";
  CHECK_THROWS_AS(write_certificate(directory / "c", problem, forged), InputError);
  // In another order the proof of the first goal does not stand for the same.
  forged = solution;
  std::swap(forged.goals[0], forged.goals[1]);
  CHECK_THROWS_AS(write_certificate(directory / "d", problem, forged), InputError);
  write_certificate(directory / "e", problem, solution);
  CHECK(check_certificate(directory / "e").accepted);
}

TEST_CASE("goals that are not there, and searches that have none") {
  const Problem problem = attention();
  Options options;
  options.goals = {"slots", "speed"};
  try {
    solve(problem, options);
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.value() == "speed");
    CHECK(error.rule().starts_with("must be one of slots, handovers, crossings, registers, "));
  }
  options.goals = {"canonical", "slots"};
  CHECK_THROWS_AS(solve(problem, options), InputError);
  options.goals = {"slots"};
  options.stages = "paper";
  CHECK_THROWS_AS(solve(problem, options), InputError);
}

TEST_CASE("attention on Blackwell: the products share one slot") {
  const Problem problem = attention();
  Options options;
  options.goals = kDefaultGoals;
  const Solution solution = solve(problem, options);
  REQUIRE(solution.schedule);
  CHECK(solution.schedule->initiation_interval == 2064);
  CHECK(solution.schedule->length == 4112);
  std::set<int> slots;
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    for (const std::string id : {"s0_qk", "s0_pv", "s1_qk", "s1_pv"})
      if (problem.ops[v].id == id) slots.insert(solution.schedule->warp[v]);
  CHECK(slots.size() == 1);
  REQUIRE(solution.goals.size() == kDefaultGoals.size());
  for (const Goal& goal : solution.goals) {
    CAPTURE(goal.name);
    CHECK(goal.value == goal.lower_bound);
  }
}

TEST_CASE("a goal may exclude the slot that an op is pinned to by the options") {
  // Two slots that can do the same: the pin keeps the op off the first.
  Problem p;
  p.name = "two";
  p.warps = {{.name = "w0", .width = 1, .registers = 8},
             {.name = "w1", .width = 1, .registers = 8}};
  p.ops.resize(1);
  p.ops[0].id = "a";
  p.ops[0].cycles = 1;
  Options options;
  options.pins = {{"a", "w1"}};
  options.goals = {"slot:a", "canonical"};
  options.evidence = true;
  const Solution solution = solve(p, options);
  REQUIRE(solution.goals.size() == 3);
  for (const Goal& goal : solution.goals) CHECK(goal.lower_bound == goal.value);
  CHECK(solution.goals[0].value == 1);
  const TemporaryDirectory directory;
  write_certificate(directory / "c", p, solution);
  CHECK(verdict(directory / "c") == "accepted");
}

}  // namespace goals_test
