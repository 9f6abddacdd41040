// Hand-made violations of every rule with the exact text, each beside a neighbour that is accepted.
#include "graph/verify.hpp"

#include <doctest/doctest.h>

#include "graph/check.hpp"

namespace verify_test {

using namespace twill;

namespace {

constexpr int kLoad = 0, kW0 = 1, kW1 = 2;  // slots of machine()
constexpr int kTc = 0, kAlu = 1;            // its units

Problem machine() {
  Problem problem;
  problem.name = "hand-made";
  problem.units = {{"TC", 1}, {"ALU", 2}};
  problem.memories = {{"smem", 4}};
  problem.warps = {{"load", 1, 8, true}, {"w0", 4, 8, false}, {"w1", 1, 8, false}};
  return problem;
}

Op op(const std::string& id, Cycle cycles, std::vector<Reservation> reservations = {}) {
  Op result;
  result.id = id;
  result.cycles = cycles;
  result.reservations = std::move(reservations);
  return result;
}

Problem loop(std::vector<Op> ops, std::vector<Edge> edges) {
  Problem problem = machine();
  problem.ops = std::move(ops);
  problem.edges = std::move(edges);
  check(problem);
  return problem;
}

/// A schedule of the right length.
Schedule at(const Problem& problem, Cycle interval, std::vector<Cycle> start,
            std::vector<int> warp) {
  Schedule schedule{interval, 0, std::move(start), std::move(warp)};
  schedule.length = schedule_length(problem, schedule.start);
  return schedule;
}

/// "rule: text", or "accepted".
std::string judged(const Problem& problem, const Schedule& schedule) {
  const auto violation = verify(problem, schedule);
  return violation ? violation->rule + ": " + violation->text : "accepted";
}

std::string judged(const Problem& problem, Cycle interval, std::vector<Cycle> start,
                   std::vector<int> warp) {
  return judged(problem, at(problem, interval, std::move(start), std::move(warp)));
}

}  // namespace

TEST_CASE("shape: one start and one slot per op") {
  const Problem p = loop({op("a", 1), op("b", 1)}, {});
  Schedule s = at(p, 1, {0, 0}, {kW0, kW0});
  CHECK(judged(p, s) == "accepted");
  s.start = {0};
  CHECK(judged(p, s) == "shape: the schedule has 1 starts, the problem has 2 ops");
  s.start = {0, 0};
  s.warp = {kW0, kW0, kW0};
  CHECK(judged(p, s) == "shape: the schedule has 3 warp slots, the problem has 2 ops");
}

TEST_CASE("initiation interval, start and length are in range") {
  const Problem p = loop({op("a", 1), op("b", 2)}, {});
  CHECK(judged(p, 1, {0, 1}, {kW0, kW0}) == "accepted");
  CHECK(judged(p, 10'000'000'000'000, {0, 1}, {kW0, kW0}) == "accepted");
  Schedule s = at(p, 1, {0, 1}, {kW0, kW0});
  s.initiation_interval = 0;
  CHECK(judged(p, s) == "initiation interval: I = 0 < 1");
  s.initiation_interval = -3;
  CHECK(judged(p, s) == "initiation interval: I = -3 < 1");
  s.initiation_interval = 10'000'000'000'001;
  CHECK(judged(p, s) == "initiation interval: I = 10000000000001 > 10000000000000");
  CHECK(judged(p, 1, {0, -1}, {kW0, kW0}) == "start: b starts at -1 < 0");
  CHECK(judged(p, 1, {100'000'000'000'000'001, 0}, {kW0, kW0}) ==
        "start: a starts at 100000000000000001 > 100000000000000000");
  s = at(p, 1, {0, 1}, {kW0, kW0});
  s.length = 4;
  CHECK(judged(p, s) == "length: L = 4, but the last op to end is b at 1 + 2 = 3");
  s.length = 2;
  CHECK(judged(p, s) == "length: L = 2, but the last op to end is b at 1 + 2 = 3");
}

TEST_CASE("a zero-cycle op may start at L itself") {
  const Problem p = loop({op("a", 2), op("view", 0)}, {{0, 1, 2}});
  CHECK(judged(p, 2, {0, 2}, {kW0, kW0}) == "accepted");
  Schedule s = at(p, 2, {0, 3}, {kW0, kW0});
  s.length = 2;
  CHECK(judged(p, s) == "length: L = 2, but the last op to end is view at 3 + 0 = 3");
}

TEST_CASE("warp uniqueness: a slot that exists and is wide enough") {
  Problem p = loop({op("a", 1)}, {});
  CHECK(judged(p, 1, {0}, {kW1}) == "accepted");
  CHECK(judged(p, 1, {0}, {-1}) == "warp uniqueness: a is on slot number -1, not one of 0 .. 2");
  CHECK(judged(p, 1, {0}, {3}) == "warp uniqueness: a is on slot number 3, not one of 0 .. 2");
  p.ops[0].width = 4;
  CHECK(judged(p, 1, {0}, {kW0}) == "accepted");
  CHECK(judged(p, 1, {0}, {kW1}) == "warp uniqueness: a is on w1: width 1 < 4");
}

TEST_CASE("variable latency: on the marked slot if and only if the op is marked") {
  Problem p = loop({op("a", 1)}, {});
  CHECK(judged(p, 1, {0}, {kLoad}) ==
        "variable latency: a has fixed latency and is on load, which only takes variable latency");
  p.ops[0].variable_latency = true;
  CHECK(judged(p, 1, {0}, {kLoad}) == "accepted");
  CHECK(judged(p, 1, {0}, {kW0}) ==
        "variable latency: a has variable latency and is on w0, not on load");
  p.warps[kLoad].variable_latency = false;  // with no slot so marked this half is void
  CHECK(judged(p, 1, {0}, {kW0}) == "accepted");
}

TEST_CASE("dependence: within an iteration and carried") {
  const Problem chain = loop({op("a", 2), op("b", 1)}, {{0, 1, 2}});
  CHECK(judged(chain, 3, {0, 2}, {kW0, kW0}) == "accepted");
  CHECK(judged(chain, 3, {0, 1}, {kW0, kW0}) == "dependence: b[0] at 1 < a[0] at 0 + delay 2 = 2");
  const Problem recurrence = loop({op("O", 1)}, {{0, 0, 3, 1}});
  CHECK(judged(recurrence, 3, {0}, {kW0}) == "accepted");
  CHECK(judged(recurrence, 2, {0}, {kW0}) == "dependence: O[1] at 2 < O[0] at 0 + delay 3 = 3");
  const Problem far = loop({op("a", 1), op("b", 1)}, {{0, 1, 1, 2}});
  CHECK(judged(far, 2, {4, 1}, {kW0, kW0}) == "accepted");
  CHECK(judged(far, 2, {5, 1}, {kW0, kW0}) == "dependence: b[2] at 5 < a[0] at 5 + delay 1 = 6");
}

TEST_CASE("cross-warp spill: only across slots, carried too") {
  Problem p = loop({op("a", 1), op("b", 1)}, {{0, 1, 1}});
  p.ops[0].spill = 2;
  CHECK(judged(p, 9, {0, 3}, {kW0, kW1}) == "accepted");
  CHECK(judged(p, 9, {0, 2}, {kW0, kW0}) == "accepted");
  CHECK(judged(p, 9, {0, 2}, {kW0, kW1}) ==
        "cross-warp spill: b[0] on w1 at 2 < a[0] on w0 at 0 + delay 1 + spill 2 = 3");
  p.edges[0].distance = 1;
  CHECK(judged(p, 4, {1, 0}, {kW0, kW1}) == "accepted");
  CHECK(judged(p, 4, {2, 0}, {kW0, kW1}) ==
        "cross-warp spill: b[1] on w1 at 4 < a[0] on w0 at 2 + delay 1 + spill 2 = 5");
}

TEST_CASE("capacity: across iterations, of an op with itself, amounts and offsets") {
  const Problem pair = loop({op("a", 1, {{kTc, 0, 1, 1}}), op("b", 1, {{kTc, 0, 1, 1}})}, {});
  CHECK(judged(pair, 2, {0, 3}, {kW0, kW0}) == "accepted");
  CHECK(judged(pair, 2, {0, 2}, {kW0, kW0}) ==
        "capacity: capacity of TC at cycle 2: a[1] 1 + b[0] 1 = 2 > 1");
  CHECK(judged(pair, 2, {7, 0}, {kW0, kW0}) == "accepted");
  CHECK(judged(pair, 2, {6, 0}, {kW0, kW0}) ==
        "capacity: capacity of TC at cycle 6: a[0] 1 + b[3] 1 = 2 > 1");

  const Problem own = loop({op("a", 3, {{kTc, 0, 3, 1}})}, {});
  CHECK(judged(own, 3, {0}, {kW0}) == "accepted");
  CHECK(judged(own, 2, {0}, {kW0}) == "capacity: capacity of TC at cycle 2: a[0..1] 2 x 1 = 2 > 1");
  // Far longer than I: one stage, but many copies at once.
  const Problem twice = loop({op("a", 20, {{kAlu, 0, 20, 1}})}, {});
  CHECK(judged(twice, 10, {0}, {kW0}) == "accepted");
  CHECK(judged(twice, 9, {0}, {kW0}) ==
        "capacity: capacity of ALU at cycle 18: a[0..2] 3 x 1 = 3 > 2");

  Problem many = loop({op("a", 60, {{kAlu, 0, 60, 1}})}, {});
  many.units[kAlu].capacity = 6;
  CHECK(judged(many, 10, {0}, {kW0}) == "accepted");
  many.units[kAlu].capacity = 5;
  CHECK(judged(many, 10, {0}, {kW0}) ==
        "capacity: capacity of ALU at cycle 50: a[0..5] 6 x 1 = 6 > 5");

  const Problem offset = loop({op("a", 2, {{kAlu, 1, 1, 2}}), op("b", 1, {{kAlu, 0, 1, 1}})}, {});
  CHECK(judged(offset, 4, {0, 2}, {kW0, kW0}) == "accepted");
  CHECK(judged(offset, 4, {0, 1}, {kW0, kW0}) ==
        "capacity: capacity of ALU at cycle 1: a[0] 2 + b[0] 1 = 3 > 2");
}

TEST_CASE("memory: copies of a result that lives longer than I, holds, several results") {
  Problem p = loop({op("a", 1), op("b", 1)}, {{0, 1, 1}});
  p.ops[0].footprints = {{0, 3}};
  CHECK(judged(p, 2, {0, 2}, {kW0, kW0}) == "accepted");  // live [0, 2)
  CHECK(judged(p, 2, {0, 3}, {kW0, kW0}) ==
        "memory: memory smem at cycle 2: a[0..1] 2 x 3 = 6 > 4");
  p.edges[0].hold = 1;  // live [0, 3)
  CHECK(judged(p, 2, {0, 2}, {kW0, kW0}) ==
        "memory: memory smem at cycle 2: a[0..1] 2 x 3 = 6 > 4");
  CHECK(judged(p, 2, {0, 1}, {kW0, kW0}) == "accepted");

  p.ops[1].footprints = {{0, 2}};
  p.edges = {{0, 1, 1}, {1, 1, 0, 1}};  // b lives [M(b), M(b) + I), a until b issues
  CHECK(judged(p, 4, {0, 2}, {kW0, kW0}) ==
        "memory: memory smem at cycle 4: a[1] 3 + b[0] 2 = 5 > 4");
  p.ops[1].footprints = {{0, 1}};
  CHECK(judged(p, 4, {0, 2}, {kW0, kW0}) == "accepted");
}

TEST_CASE("registers: per slot, copies, carried results beyond the unrolling's end") {
  Problem p = loop({op("a", 1), op("c", 1), op("b", 1)}, {{0, 2, 1}, {1, 2, 1}});
  p.ops[0].registers = 5;
  p.ops[1].registers = 4;
  CHECK(judged(p, 3, {0, 1, 2}, {kW0, kW1, kW0}) == "accepted");
  CHECK(judged(p, 3, {0, 1, 2}, {kW0, kW0, kW1}) ==
        "registers: registers of w0 at cycle 1: a[0] 5 + c[0] 4 = 9 > 8");

  Problem carried = loop({op("a", 1), op("b", 1)}, {{0, 1, 1, 2}});
  carried.ops[0].registers = 3;
  CHECK(judged(carried, 2, {0, 0}, {kW0, kW0}) == "accepted");  // live [0, 4)
  CHECK(judged(carried, 2, {0, 1}, {kW0, kW0}) ==               // live [0, 5)
        "registers: registers of w0 at cycle 4: a[0..2] 3 x 3 = 9 > 8");
  carried.edges[0].hold = 1;
  CHECK(judged(carried, 2, {0, 0}, {kW0, kW0}) ==
        "registers: registers of w0 at cycle 4: a[0..2] 3 x 3 = 9 > 8");
  carried.ops[0].registers = 2;
  carried.edges[0].distance = 4;  // live [0, 9)
  CHECK(judged(carried, 2, {0, 0}, {kW0, kW0}) ==
        "registers: registers of w0 at cycle 8: a[0..4] 5 x 2 = 10 > 8");
  carried.edges = {{0, 1, 0, 0, false, 8}};  // live [0, 8)
  CHECK(judged(carried, 2, {0, 0}, {kW0, kW0}) == "accepted");
  carried.edges[0].hold = 9;
  CHECK(judged(carried, 2, {0, 0}, {kW0, kW0}) ==
        "registers: registers of w0 at cycle 8: a[0..4] 5 x 2 = 10 > 8");
}

TEST_CASE("a result without a consumer, or used in its own issue cycle, is not live") {
  Problem p = loop({op("view", 0), op("b", 1)}, {});
  p.ops[0].registers = 9;
  CHECK(judged(p, 1, {0, 0}, {kW0, kW0}) == "accepted");
  p.edges = {{0, 1, 0}};
  CHECK(judged(p, 1, {0, 0}, {kW0, kW0}) == "accepted");
  CHECK(judged(p, 1, {0, 1}, {kW0, kW0}) ==
        "registers: registers of w0 at cycle 0: view[0] 9 = 9 > 8");
}

TEST_CASE("a long sum is cut, its total is not") {
  Problem p = machine();
  for (int i = 0; i < 14; ++i) {
    p.ops.push_back(op("a" + std::to_string(i), 1));
    p.ops.back().registers = 1;
    p.edges.push_back({i, i, 1, 1});
  }
  const std::vector<Cycle> start(14, 0);
  CHECK(judged(p, 1, start, std::vector<int>(14, kW0)) ==
        "registers: registers of w0 at cycle 0: a0[0] 1 + a1[0] 1 + a2[0] 1 + a3[0] 1 + a4[0] 1 + "
        "a5[0] 1 + a6[0] 1 + a7[0] 1 + a8[0] 1 + a9[0] 1 + a10[0] 1 + a11[0] 1 + 2 more = 14 > 8");
  p.warps[kW0].registers = 14;
  CHECK(judged(p, 1, start, std::vector<int>(14, kW0)) == "accepted");
}

TEST_CASE("concurrency: a blocking wait while another op executes on the slot") {
  Problem p = loop({op("u", 1), op("v", 1), op("o", 3)}, {{0, 1, 1}});
  CHECK(judged(p, 6, {0, 3, 2}, {kW0, kW0, kW0}) == "accepted");  // nothing waits
  p.edges[0].blocking = true;
  CHECK(judged(p, 6, {0, 3, 2}, {kW0, kW0, kW0}) ==
        "concurrency: v[0] on w0 waits for u[0] at cycle 3 (blocking) while o[0] executes in "
        "[2, 5)");
  CHECK(judged(p, 6, {0, 2, 2}, {kW0, kW0, kW0}) ==
        "concurrency: v[0] on w0 waits for u[0] at cycle 2 (blocking) while o[0] executes in "
        "[2, 5)");
  CHECK(judged(p, 6, {0, 5, 2}, {kW0, kW0, kW0}) == "accepted");
  CHECK(judged(p, 6, {0, 3, 2}, {kW0, kW0, kW1}) == "accepted");
  CHECK(judged(p, 6, {0, 7, 1}, {kW0, kW0, kW0}) ==  // v[0] in the second period
        "concurrency: v[0] on w0 waits for u[0] at cycle 7 (blocking) while o[1] executes in "
        "[7, 10)");
  p.edges[0].distance = 1;
  CHECK(judged(p, 6, {0, 0, 5}, {kW1, kW0, kW0}) ==
        "concurrency: v[1] on w0 waits for u[0] at cycle 6 (blocking) while o[0] executes in "
        "[5, 8)");
  CHECK(judged(p, 6, {0, 0, 3}, {kW1, kW0, kW0}) == "accepted");
}

TEST_CASE("concurrency: a result that is spilled to another slot is waited for") {
  Problem p = loop({op("u", 1), op("v", 1), op("o", 3)}, {{0, 1, 1}});
  p.ops[0].spill = 1;
  CHECK(judged(p, 6, {0, 3, 2}, {kW1, kW0, kW0}) ==
        "concurrency: v[0] on w0 waits for u[0] at cycle 3 (spilled from w1) while o[0] executes "
        "in [2, 5)");
  CHECK(judged(p, 6, {0, 3, 2}, {kW0, kW0, kW0}) == "accepted");
  CHECK(judged(p, 6, {0, 5, 2}, {kW1, kW0, kW0}) == "accepted");
  p.ops[0].spill = 0;
  CHECK(judged(p, 6, {0, 3, 2}, {kW1, kW0, kW0}) == "accepted");
}

TEST_CASE("concurrency: an op of I cycles or more leaves no gap on its slot") {
  Problem p = loop({op("u", 0), op("v", 1), op("o", 5)}, {{0, 1, 1}});
  p.edges[0].blocking = true;
  CHECK(judged(p, 6, {0, 1, 2}, {kW0, kW0, kW0}) == "accepted");  // o in [2, 7), v[1] at 7
  p.ops[2].cycles = 6;
  CHECK(judged(p, 6, {0, 1, 2}, {kW0, kW0, kW0}) ==
        "concurrency: v[1] on w0 waits for u[1] at cycle 7 (blocking) while o[0] executes in "
        "[2, 8)");
  CHECK(judged(p, 6, {0, 1, 2}, {kW0, kW0, kW1}) == "accepted");
}

TEST_CASE("concurrency: v's own copies, zero-cycle ops and the marked slot are exempt") {
  Problem own = loop({op("v", 5)}, {{0, 0, 2, 1, true}});
  CHECK(judged(own, 2, {0}, {kW0}) == "accepted");  // v[0] executes when v[1] waits

  Problem zero = loop({op("u", 0), op("v", 0), op("o", 0)}, {{0, 1, 0, 0, true}});
  CHECK(judged(zero, 2, {0, 0, 0}, {kW0, kW0, kW0}) == "accepted");
  zero.ops[2].cycles = 1;  // a zero-cycle op waits like any other
  CHECK(judged(zero, 2, {0, 0, 0}, {kW0, kW0, kW0}) ==
        "concurrency: v[0] on w0 waits for u[0] at cycle 0 (blocking) while o[0] executes in "
        "[0, 1)");

  Problem exempt = loop({op("u", 1), op("v", 1), op("o", 3)}, {{0, 1, 1, 0, true}});
  for (Op& each : exempt.ops) each.variable_latency = true;
  CHECK(judged(exempt, 6, {0, 3, 2}, {kLoad, kLoad, kLoad}) == "accepted");
  exempt.warps[kLoad].variable_latency = false;
  CHECK(judged(exempt, 6, {0, 3, 2}, {kLoad, kLoad, kLoad}) ==
        "concurrency: v[0] on load waits for u[0] at cycle 3 (blocking) while o[0] executes in "
        "[2, 5)");
}

TEST_CASE("an unrolling of 10^12 iterations is judged from its steady state on") {
  Problem p = loop({op("a", 1), op("b", 1)}, {{0, 1, 1}});
  const Schedule s = at(p, 1, {0, 1'000'000'000'000}, {kW0, kW0});
  CHECK(judged(p, s) == "accepted");
  p.ops[0].registers = 2;
  CHECK(judged(p, s) ==
        "registers: registers of w0 at cycle 1000000000001: "
        "a[2..1000000000001] 1000000000000 x 2 = 2000000000000 > 8");
  p.warps[kW0].registers = 2'000'000'000'000;
  CHECK(judged(p, s) == "accepted");
  p.ops[0].registers = Amount{1} << 25;  // 2^39 copies: 2^64 registers, 0 in 64 bits
  CHECK(judged(p, at(p, 1, {0, Cycle{1} << 39}, {kW0, kW0})) ==
        "registers: registers of w0 at cycle 549755813889: "
        "549755813888 copies of a, 33554432 each > 2000000000000");
}

}  // namespace verify_test
