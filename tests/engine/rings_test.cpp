// Rings charged to memory: the judge, both engines, bounds, proofs and clashes against enumeration.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/smtlib.hpp"
#include "engine/certificate/certificate.hpp"
#include "engine/certificate/evidence.hpp"
#include "engine/include/twill.hpp"
#include "engine/include/twill_explain.hpp"
#include "engine/output/steady_state.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"
#include "tests/support/agreement.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/file_samples.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/streaming.hpp"
#include "tests/support/temporary_directory.hpp"

namespace rings_test {

using namespace twill;
using namespace twill::test;

namespace {

LoopKnobs tiny() {
  LoopKnobs knobs;
  knobs.max_ops = 4;
  knobs.max_slots = 2;
  knobs.max_spill = 2;
  return knobs;
}

/// In half of the loops loads may be in flight, in a third there are channels.
Problem some_loop(std::uint64_t seed, LoopKnobs knobs = {}) {
  knobs.flight = seed % 2 == 0;
  knobs.max_channels = seed % 3 == 0 ? 2 : 0;
  return ring_loop(seed, knobs);
}

/// Op 0 is a load of small buffers, the last use of which is many iterations after the first.
Problem deep_ring(std::uint64_t seed) {
  LoopKnobs knobs = tiny();
  knobs.max_ops = 3;
  knobs.max_cycles = 2;
  Problem problem = some_loop(seed, knobs);
  Random random(seed);
  const int far = static_cast<int>(random.range(9, 13));
  const int last = static_cast<int>(problem.ops.size()) - 1;
  const Amount buffer = memory_charges(problem, 0).ring[0];
  problem.edges.push_back({0, 1, 0, 0, false, 0});
  problem.edges.push_back({0, last, 0, far, false, random.range(0, 2)});
  std::erase_if(problem.edges, [&](const Edge& e) {
    return problem.ops[static_cast<std::size_t>(e.to)].fills_ring();
  });
  // A result that takes more makes the buffers small beside the capacity.
  problem.memories[0].capacity = buffer * (far + random.range(0, 3));
  for (Op& op : problem.ops)
    for (Footprint& f : op.footprints)
      if (&op != problem.ops.data() && f.memory == 0 && op.cycles > 0) {
        f.amount = 8 * buffer;
        problem.memories[0].capacity += 8 * buffer;
      }
  return problem;
}

Problem with_live(Problem problem) {
  for (Memory& memory : problem.memories) memory.rings = false;
  return problem;
}

/// A load of 10 bytes, its buffer's allocation, and a product that reads it for 4 cycles.
Problem load_and_use(Amount capacity) {
  Problem p;
  p.name = "load-and-use";
  p.units = {{"TC", 1}};
  p.memories = {{"smem", capacity, true}};
  p.warps = {{"load", 1, 0, true}, {"w0", 4, 8, false}};
  p.ops.resize(3);
  p.ops[0].id = "ld";
  p.ops[0].variable_latency = p.ops[0].streaming = true;
  p.ops[1].id = "alloc";
  p.ops[1].footprints = {{0, 10}};
  p.ops[2].id = "mma";
  p.ops[2].cycles = 4;
  p.ops[2].reservations = {{0, 0, 4, 1}};
  p.edges = {{0, 1, 0, 0, false, 0}, {1, 2, 0, 0, false, 4}};
  return p;
}

Options with(const std::string& engine) {
  Options options;
  options.engine = engine;
  options.threads = 1;
  options.time_limit = 60;
  return options;
}

/// What enumeration finds, which both engines must find too.
auto agree(const Problem& problem, std::uint64_t seed, const std::string& stages = "complete") {
  auto expected = exhaustive(problem, stages == "complete" ? 0 : std::stoll(stages));
  for (const char* engine : {"order", "time_indexed"}) {
    Options options = with(engine);
    options.stages = stages;
    if (disagreement(problem, options, expected).empty()) continue;
    FAIL("seed ", seed, ", engine ", engine, ", stages ", stages, ": ",
         shrunk_disagreement(problem, options));
  }
  return expected;
}

}  // namespace

TEST_CASE("what a memory charges: rings with what is in them, the rest while it is live") {
  Problem p = load_and_use(100);
  MemoryCharges charges = memory_charges(p, 0);
  CHECK(charges.ring == std::vector<Amount>{10, 0, 0});
  CHECK(charges.live == std::vector<Amount>{0, 0, 0});
  CHECK(charged_loads(p) == std::vector<int>{0});
  p.ops[0].footprints = {{0, 3}};
  p.ops[2].footprints = {{0, 5}};  // not a holder: it takes time
  charges = memory_charges(p, 0);
  CHECK(charges.ring == std::vector<Amount>{13, 0, 0});
  CHECK(charges.live == std::vector<Amount>{0, 0, 5});
  CHECK(charges.least_rings() == 13);
  // A second load whose buffer the allocation holds too: it is in neither ring.
  p.ops.push_back(p.ops[0]);
  p.ops[3].id = "ld2";
  p.edges.push_back({3, 1, 0, 0, false, 0});
  charges = memory_charges(p, 0);
  CHECK(charges.ring == std::vector<Amount>{3, 0, 0, 3});
  CHECK(charges.live == std::vector<Amount>{0, 10, 5, 0});
  p.memories[0].rings = false;
  charges = memory_charges(p, 0);
  CHECK(charges.ring == std::vector<Amount>(4, 0));
  CHECK(charges.live == std::vector<Amount>{3, 10, 5, 3});
  CHECK(charged_loads(p).empty());
  charge_rings(p);
  CHECK(p.memories[0].rings);
  // Nothing is charged where no load has a buffer.
  Problem none = load_and_use(100);
  none.memories[0].rings = false;
  none.ops[0].streaming = false;
  charge_rings(none);
  CHECK_FALSE(none.memories[0].rings);
}

TEST_CASE("the judge refuses a schedule with one buffer too many, and says which rings") {
  const Schedule now{4, 4, {0, 0, 0}, {0, 1, 1}};  // the product ends as the next load is issued
  CHECK_FALSE(verify(load_and_use(20), now));
  const auto refused = verify(load_and_use(19), now);
  REQUIRE(refused);
  CHECK(refused->rule == "memory");
  CHECK(refused->text == "memory smem in every cycle: ring of ld: 2 x 10 = 20 > 19");
  CHECK_FALSE(verify(with_live(load_and_use(10)), now));  // one is live at a time
  const Schedule slack{5, 4, {0, 0, 0}, {0, 1, 1}};
  CHECK_FALSE(verify(load_and_use(10), slack));
  const Schedule early{5, 9, {0, 0, 5}, {0, 1, 1}};
  CHECK(verify(load_and_use(19), early));
  CHECK_FALSE(verify(load_and_use(20), early));
  // Beside what is live: the sum counts both.
  Problem p = load_and_use(24);
  p.ops[2].footprints = {{0, 5}};
  p.edges.push_back({2, 2, 4, 1, false, 0});
  const auto both = verify(p, now);
  REQUIRE(both);
  CHECK(both->text.find("ring of ld: 2 x 10 + mma[0] 5 = 25 > 24") != std::string::npos);
  p.memories[0].capacity = 25;
  CHECK_FALSE(verify(p, now));
  CHECK(solve(load_and_use(10)).schedule->initiation_interval == 5);
  CHECK(solve(load_and_use(20)).schedule->initiation_interval == 4);
  CHECK(solve(load_and_use(9)).status == Status::infeasible);
}

TEST_CASE("the judge and the oracle agree on random schedules, and the depth is the reported one") {
  int accepted = 0, memory = 0, only_rings = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    const Problem problem = some_loop(seed);
    REQUIRE_NOTHROW(check(problem));
    Random random(seed);
    for (int i = 0; i < 10; ++i) {
      const Schedule s = random_schedule(problem, random, 8);
      const auto mine = verify(problem, s);
      REQUIRE((mine ? mine->rule : "accepted") == broken_rule(problem, s).value_or("accepted"));
      const bool live = !verify(with_live(problem), s);
      accepted += !mine;
      memory += mine && mine->rule == "memory";
      if (mine && mine->rule == "memory") only_rings += live;
      if (!mine) REQUIRE(live);  // charging rings allows nothing that is not allowed without
      if (!live) continue;
      // By the reported depths: exactly what the rings are charged.
      const auto depths = ring_depths(problem, s);
      const MemoryCharges charges = memory_charges(problem, 0);
      Amount rings = 0;
      for (std::size_t u = 0; u < problem.ops.size(); ++u)
        if (charges.ring[u] > 0) rings += charges.ring[u] * depths.at(problem.ops[u].id);
      if (rings > problem.memories[0].capacity) REQUIRE(mine);
      Problem roomy = with_live(problem);
      roomy.memories[0].rings = true;
      roomy.memories[0].capacity = rings;
      for (Op& op : roomy.ops)
        if (charges.live[static_cast<std::size_t>(&op - roomy.ops.data())] > 0)
          std::erase_if(op.footprints, [](const Footprint& f) { return f.memory == 0; });
      REQUIRE_FALSE(verify(roomy, s));
      if (rings == 0) continue;
      roomy.memories[0].capacity = rings - 1;
      const auto refused = verify(roomy, s);
      REQUIRE(refused);
      REQUIRE(refused->rule == "memory");
    }
  }
  CHECK(accepted > 1000);
  CHECK(memory > 1000);
  CHECK(only_rings > 500);
}

TEST_CASE("both engines find what enumeration finds") {
  int feasible = 0, infeasible = 0, dearer = 0;
  for (std::uint64_t seed = 0; seed < 2500; ++seed) {
    const Problem problem = some_loop(seed, tiny());
    const auto expected = agree(problem, seed);
    ++(expected ? feasible : infeasible);
    if (seed % 5 != 0) continue;
    const Solution live = solve(with_live(problem));
    dearer += live.schedule &&
              (!expected || live.schedule->initiation_interval < expected->initiation_interval);
  }
  CHECK(feasible > 1200);
  CHECK(infeasible > 50);
  CHECK(dearer > 30);
}

TEST_CASE("long holds and distances, many small buffers, and few stages") {
  LoopKnobs knobs = tiny();
  knobs.max_ops = 3;
  knobs.max_distance = 4;
  knobs.max_hold = 9;
  int feasible = 0;
  for (std::uint64_t seed = 10'000; seed < 10'700; ++seed) {
    Problem problem = some_loop(seed, knobs);
    if (seed % 2 == 0) problem.memories[0].capacity *= 17;  // counted in growing detail
    for (const char* stages : {"complete", "1", "2"})
      feasible += agree(problem, seed, stages).has_value();
  }
  CHECK(feasible > 1000);
}

TEST_CASE("cycles so long that coarse copies of the loop are searched first") {
  LoopKnobs knobs = tiny();
  knobs.max_ops = 3;
  knobs.max_cycles = 30;
  knobs.max_spill = 12;
  knobs.max_hold = 9;
  knobs.multi_segment = false;
  knobs.max_units = 1;
  knobs.max_capacity = 1;
  int feasible = 0;
  for (std::uint64_t seed = 25'000; seed < 25'040; ++seed) {
    const Problem problem = some_loop(seed, knobs);
    feasible += agree(problem, seed).has_value();
  }
  CHECK(feasible > 20);
}

TEST_CASE("every start encoding") {
  for (std::uint64_t seed = 20'000; seed < 20'120; ++seed) {
    const Problem problem = some_loop(seed, tiny());
    const auto expected = exhaustive(problem, 0);
    for (const std::string start : {"rowstage", "order", "direct", "binary", "channelled"}) {
      Options options = with("time_indexed");
      options.encoding = "start=" + start;
      if (disagreement(problem, options, expected).empty()) continue;
      FAIL("seed ", seed, ", ", start, ": ", shrunk_disagreement(problem, options));
    }
  }
}

TEST_CASE("pins to cycles") {
  int feasible = 0;
  for (std::uint64_t seed = 30'000; seed < 30'400; ++seed) {
    Problem problem = some_loop(seed, tiny());
    Random random(seed);
    const int last = static_cast<int>(problem.ops.size()) - 1;
    problem.pins.push_back(
        {Pin::at_cycle, static_cast<int>(random.range(0, last)), -1, random.range(0, 5), -1});
    feasible += agree(problem, seed).has_value();
  }
  CHECK(feasible > 200);
}

TEST_CASE("loops beside a copy of themselves: exchangeable rings") {
  LoopKnobs knobs = tiny();
  knobs.max_ops = 2;
  knobs.max_cycles = 2;
  int feasible = 0;
  for (std::uint64_t seed = 40'000; seed < 40'150; ++seed) {
    const Problem problem = beside_itself(some_loop(seed, knobs));
    feasible += agree(problem, seed).has_value();
  }
  CHECK(feasible > 60);
}

TEST_CASE("feasible at the serial interval if and only if at any, and monotone in I") {
  LoopKnobs knobs = tiny();
  knobs.max_ops = 3;
  knobs.always_placeable = false;
  int feasible = 0, infeasible = 0, monotone = 0;
  for (std::uint64_t seed = 50'000; seed < 50'600; ++seed) {
    CAPTURE(seed);
    Problem p = some_loop(seed, knobs);
    drop_channels(p);  // rule 9 alone says nothing of larger intervals
    const Cycle serial = serial_ii(p);
    bool below = false;
    for (Cycle ii = 1; ii <= serial + 2; ++ii) {
      // One stage more than the bound says is enough changes nothing.
      const auto more = brute_force_at(p, ii, stage_bound(p, ii) + 1);
      const bool there = brute_force_at(p, ii, stage_bound(p, ii)).has_value();
      REQUIRE(there == more.has_value());
      if (below && (monotone_in_ii(p) || ii >= serial)) REQUIRE(there);
      if (ii > serial) REQUIRE(there == below);
      below = below || there;
    }
    ++(below ? feasible : infeasible);
    monotone += monotone_in_ii(p);
    // Only the numbers that are 0 matter there (Claim 2).
    const SerialProblem one = serial_problem(p);
    REQUIRE(exhaustive_at(one.problem, one.ii, 0).has_value() == below);
  }
  CHECK(feasible > 200);
  CHECK(infeasible > 50);
  CHECK(monotone > 100);
}

TEST_CASE("no bound exceeds the truth, and that of rings decides now and then") {
  int decides = 0;
  for (std::uint64_t seed = 60'000; seed < 62'500; ++seed) {
    CAPTURE(seed);
    const Problem p = some_loop(seed, tiny());
    const std::vector<Bound> bounds = lower_bounds(p);
    for (Cycle ii = 1; ii < bounds.front().value; ++ii)
      REQUIRE_FALSE(brute_force_at(p, ii, 3).has_value());
    const bool beside = bounds.front().text.find("beside rings") != std::string::npos;
    if (beside && (bounds.size() < 2 || bounds[1].value < bounds[0].value)) ++decides;
  }
  CHECK(decides > 5);
}

TEST_CASE("tightened schedules keep the rule") {
  int tightened = 0, better = 0;
  for (std::uint64_t seed = 70'000; seed < 72'000; ++seed) {
    CAPTURE(seed);
    const Problem p = some_loop(seed, tiny());
    if (!monotone_in_ii(p)) continue;
    Random random(seed);
    for (int i = 0; i < 8; ++i) {
      const Schedule s = random_schedule(p, random, 9);
      if (verify(p, s)) continue;
      const auto tight = tighten(p, p, s, 1, s.initiation_interval);
      REQUIRE(tight);
      REQUIRE_FALSE(verify(p, *tight));
      ++tightened;
      better += tight->initiation_interval < s.initiation_interval;
    }
  }
  CHECK(tightened > 300);
  CHECK(better > 100);
}

TEST_CASE("deep rings of small buffers: models that overflow are refined") {
  for (std::uint64_t seed = 15'000; seed < 15'120; ++seed) {
    const Problem problem = deep_ring(seed);
    const auto expected = exhaustive(problem, 0);
    for (const char* engine : {"order", "time_indexed"}) {
      const Options options = with(engine);
      if (disagreement(problem, options, expected).empty()) continue;
      FAIL("seed ", seed, ", engine ", engine, ": ", shrunk_disagreement(problem, options));
    }
  }
}

TEST_CASE("certificates: both engines, accepted") {
  int refutations = 0, refinements = 0;
  for (std::uint64_t seed = 80'000; seed < 80'250; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 3 == 0 ? deep_ring(seed) : some_loop(seed, tiny());
    for (const char* engine : {"order", "time_indexed"}) {
      Options options = with(engine);
      options.evidence = true;
      if (seed % 2 == 0) options.goals = {"memory:mem0", "rings"};
      const Solution solution = solve(problem, options);
      const TemporaryDirectory directory;
      write_certificate(directory / "c", problem, solution);
      const CertificateReport report = check_certificate(directory / "c");
      REQUIRE(report.refusal == "");
      for (const std::string& line : report.proved)
        refutations += line.find(": refutation") != std::string::npos;
      for (const Refutation& r : solution.evidence->refutations())
        refinements += !r.refinements.empty();
    }
  }
  CHECK(refutations > 150);
  CHECK(refinements > 5);
}

TEST_CASE("the goals memory:NAME and ring:LOAD within the rule, both engines") {
  int compared = 0;
  for (std::uint64_t seed = 90'000; seed < 90'300; ++seed) {
    CAPTURE(seed);
    const Problem problem = some_loop(seed, tiny());
    Options options = with("order");
    options.goals = {"memory:mem0", "ring:op0"};
    const Solution order = solve(problem, options);
    options.engine = "time_indexed";
    const Solution cnf = solve(problem, options);
    REQUIRE(order.goals.size() == cnf.goals.size());
    for (std::size_t g = 0; g < order.goals.size(); ++g) {
      CHECK(order.goals[g].value == cnf.goals[g].value);
      CHECK(order.goals[g].lower_bound == order.goals[g].value);
      ++compared;
    }
    if (order.goals.empty()) continue;
    // The fullest moment is what the judge accepts, and one less is not.
    Problem least = problem;
    least.memories[0].capacity = order.goals[0].value;
    CHECK_FALSE(verify(least, *order.schedule));
    CHECK(steady_state(problem, *order.schedule).memories[0].peak == order.goals[0].value);
    if (--least.memories[0].capacity >= 0) CHECK(verify(least, *order.schedule));
  }
  CHECK(compared > 300);
}

TEST_CASE("explanations name rings") {
  Options options;
  const IntervalExplanation why = explain_interval(load_and_use(10), 4, options);
  CHECK(why.verdict() == Verdict::unsat);
  REQUIRE_FALSE(why.texts(false).empty());
  CHECK(why.texts(false).front() == "memory smem: ring of ld: 2 x 10 = 20 > 10");
  const Solution none = solve(load_and_use(9));
  REQUIRE(none.conflict.size() == 1);
  CHECK(none.conflict.front() == "memory smem: ring of ld: 1 x 10 > 9");
}

TEST_CASE("files: a version of its own, only where it is needed") {
  const Problem charged = load_and_use(30);
  const std::string text = problem_text(charged);
  CHECK(text.find("\"version\": 3") != std::string::npos);
  CHECK(text.find("\"smem\": {\n      \"capacity\": 30,\n      \"rings\": true\n    }") !=
        std::string::npos);
  CHECK(parse_problem(text) == charged);
  CHECK(problem_text(parse_problem(text)) == text);
  CHECK(problem_text(with_live(charged)).find("\"version\": 1") != std::string::npos);
  std::string old = text;
  old.replace(old.find("\"version\": 3"), 12, "\"version\": 2");
  const InputError error = refusal([&] { parse_problem(old, "p.json"); });
  CHECK(error.place() == "/memories/smem");
}

TEST_CASE("the corrected straight-line program finds what enumeration finds") {
  LoopKnobs knobs = tiny();
  knobs.max_ops = 3;
  knobs.max_cycles = 2;
  int feasible = 0;
  for (std::uint64_t seed = 45'000; seed < 45'250; ++seed) {
    const Problem problem = some_loop(seed, knobs);
    Options options = with("time_indexed");
    options.encoding = "form=straight-line";
    options.stages = "2";
    const auto expected = exhaustive(problem, 2);
    feasible += expected.has_value();
    CAPTURE(seed);
    const Solution found = solve(problem, options);
    REQUIRE(found.schedule.has_value() == expected.has_value());
    if (!expected) continue;
    REQUIRE(found.schedule->initiation_interval == expected->initiation_interval);
    REQUIRE(found.schedule->length == expected->length);
  }
  CHECK(feasible > 120);
}

TEST_CASE("the paper's program as printed refuses rings") {
  const Problem problem = load_and_use(30);
  Options options = with("time_indexed");
  options.encoding = "form=straight-line-literal";
  const InputError error = refusal([&] { solve(problem, options); });
  CHECK(error.place() == "/memories/smem/rings");
  CHECK_THROWS_AS(smtlib(problem, 5, 4, true), InputError);
}

TEST_CASE("kernels: rings are charged where they are asked for, and nothing else changes") {
  const auto lowered = [](const std::string& kernel, const std::string& layout, bool rings) {
    LowerOptions options = streaming_loads();
    options.layout = layout;
    options.rings = rings;
    return lower(builtin_kernel(kernel), kernel, builtin_machine("blackwell"), "blackwell", options)
        .front()
        .problem;
  };
  const Problem charged = lowered("blackwell-fwd-sub2", "softmax-correction", true);
  CHECK(with_live(charged) == lowered("blackwell-fwd-sub2", "softmax-correction", false));
  for (const Memory& memory : charged.memories) CHECK(memory.rings == (memory.name == "smem"));
  CHECK(charged_loads(charged).size() == 2);  // K and V
  // Backward, dQ leaves through shared memory for 4608 cycles (512 until its reduction is issued
  // and 4096 that this reads it): at a smaller I two copies of 65536 bytes meet, and beside a
  // buffer of each load they do not fit.
  for (const bool rings : {false, true}) {
    const Problem backward = lowered("blackwell-bwd", "8+4", rings);
    const Solution solution = solve(backward);
    REQUIRE(solution.schedule);
    CHECK(solution.status == Status::optimal);
    CHECK(solution.schedule->initiation_interval == (rings ? 4608 : 4096));
    CHECK_FALSE(verify(backward, *solution.schedule));
  }
}

}  // namespace rings_test
