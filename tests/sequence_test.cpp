// Sequences of the order form (encoders/order_sequence.cpp): every schedule that verify() accepts
// satisfies their sums, on random loops and with every schedule of tiny ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "encoders/order.hpp"
#include "encoders/sinks.hpp"
#include "graph/index.hpp"
#include "graph/verify.hpp"
#include "tests/support/random_loop.hpp"

using namespace twill;
using namespace twill::test;

namespace {

/// One slot, one unit that one op at a time can use, ops of 1 to 3 cycles of which most wait.
Problem crowded_loop(Random& random, int ops) {
  Problem p;
  p.name = "crowded";
  p.units = {{"U", random.range(1, 2)}};
  p.warps.resize(1);
  p.warps[0].name = "w";
  p.warps[0].width = 4;
  p.warps[0].registers = 255;
  for (int v = 0; v < ops; ++v) {
    Op op;
    op.id = "op" + std::to_string(v);
    op.cycles = random.range(1, 3);
    if (random.percent(70)) op.reservations = {{0, 0, random.range(1, op.cycles), 1}};
    p.ops.push_back(op);
  }
  for (int v = 0; v < ops; ++v) {
    Edge e;
    e.from = static_cast<int>(random.range(0, ops - 1));
    e.to = v;
    e.delay = 0;
    e.distance = e.from < e.to ? 0 : 1;
    e.blocking = random.percent(70);
    p.edges.push_back(e);
  }
  return p;
}

/// Ops a, b, ... of so many cycles on one unit, which they occupy from issue to end; no edges.
Problem ops_on_one_unit(int ops, Cycle cycles, Amount capacity) {
  Problem p;
  p.name = "one unit";
  p.units = {{"U", capacity}};
  p.warps.resize(1);
  p.warps[0].name = "w";
  p.warps[0].registers = 255;
  for (int v = 0; v < ops; ++v) {
    Op op;
    op.id = std::string(1, static_cast<char>('a' + v));
    op.cycles = cycles;
    op.reservations = {{0, 0, cycles, 1}};
    p.ops.push_back(op);
  }
  return p;
}

/// The sums that the schedule's rows break.
int broken(const Differences& rows, const Schedule& schedule) {
  const Cycle ii = schedule.initiation_interval;
  const int ops = static_cast<int>(schedule.start.size());
  std::map<int, Cycle> first;  // of a sequence: the least row of its members
  const auto row = [&](int node) {
    return node == 0 ? Cycle{0} : node <= ops ? schedule.start[at(node - 1)] % ii : first.at(node);
  };
  for (const DifferenceSum& sum : rows.sums()) {
    const auto [member, sequence] = std::minmax(sum.difference.from, sum.difference.to);
    const auto place = first.emplace(sequence, row(member)).first;
    place->second = std::min(place->second, row(member));
  }
  std::map<int, bool> holds;
  for (const DifferenceAtom& a : rows.atoms())
    if (!rows.is_stage(a.difference.from) && !rows.is_stage(a.difference.to))
      holds[a.variable] =
          row(a.difference.to) - row(a.difference.from) >= a.difference.at(ii, schedule.length);
  int count = 0;
  for (const DifferenceSum& sum : rows.sums()) {
    Cycle least = sum.difference.at(ii, schedule.length);
    for (const DifferenceSum::Term& term : sum.terms)
      if (holds.at(term.variable)) least += term.amount;
    count += row(sum.difference.to) - row(sum.difference.from) < least;
  }
  return count;
}

}  // namespace

TEST_CASE("every schedule of tiny crowded loops satisfies the sums, and tightly") {
  int schedules = 0, sums = 0, sequences = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Problem problem = crowded_loop(random, 3);
    for (Cycle ii = 3; ii <= 8; ++ii) {
      CAPTURE(ii);
      MemoryCnf cnf;
      Formula f(cnf);
      OrderRequest request;
      request.ii_low = order_range_allowed(problem, 3, ii) ? 3 : ii;
      request.ii_high = ii;
      request.stages = random.range(0, 2);
      const OrderEncoding encoding(f, problem, request, {});
      sums += static_cast<int>(encoding.rows().sums().size());
      sequences += !encoding.rows().sums().empty();
      Schedule schedule{ii, 0, {0, 0, 0}, {0, 0, 0}};
      for (Cycle starts = 0; starts < 8 * ii * ii * ii; ++starts) {
        Cycle rest = starts;
        for (Cycle& start : schedule.start) {
          start = rest % (2 * ii);
          rest /= 2 * ii;
        }
        schedule.length = schedule_length(problem, schedule.start);
        if (verify(problem, schedule)) continue;
        ++schedules;
        REQUIRE(broken(encoding.rows(), schedule) == 0);
      }
    }
  }
  CHECK(schedules > 10'000);
  CHECK(sequences > 100);
  CHECK(sums >= 6 * sequences);
}

TEST_CASE("what is no schedule breaks sums: they exclude something") {
  // Three ops of two cycles on one unit at I = 6: the third begins 4 after the first.
  const Problem problem = ops_on_one_unit(3, 2, 1);
  MemoryCnf cnf;
  Formula f(cnf);
  OrderRequest request;
  request.ii_low = request.ii_high = 6;
  const OrderEncoding encoding(f, problem, request, {});
  CHECK(encoding.rows().sums().size() == 6);
  CHECK(encoding.rows().nodes() == 1 + 2 * 3 + 1);
  CHECK_FALSE(encoding.rows().is_stage(7));
  CHECK(encoding.rows().is_stage(6));
  CHECK(broken(encoding.rows(), {6, 6, {0, 2, 4}, {0, 0, 0}}) == 0);
  CHECK(broken(encoding.rows(), {6, 6, {1, 5, 3}, {0, 0, 0}}) == 0);  // runs past I
  CHECK(broken(encoding.rows(), {6, 6, {0, 2, 3}, {0, 0, 0}}) == 0);  // no order, no term
  CHECK(broken(encoding.rows(), {5, 5, {0, 2, 4}, {0, 0, 0}}) > 0);
}

TEST_CASE("ops that need not exclude each other are no sequence") {
  Problem problem = ops_on_one_unit(4, 3, 2);
  problem.warps.push_back(problem.warps[0]);
  problem.warps[1].name = "x";
  // All wait, but on either of two slots.
  for (int v = 0; v < 4; ++v) {
    Edge e;
    e.from = v;
    e.to = (v + 1) % 4;
    e.distance = v == 3 ? 1 : 0;
    e.delay = 3;
    e.blocking = true;
    problem.edges.push_back(e);
  }
  const auto sums = [&] {
    MemoryCnf cnf;
    Formula f(cnf);
    OrderRequest request;
    request.ii_low = request.ii_high = 12;
    return OrderEncoding(f, problem, request, {}).rows().sums().size();
  };
  CHECK(sums() == 0);
  problem.units[0].capacity = 1;
  CHECK(sums() == 8);
  problem.ops[2].reservations = {{0, 0, 1, 1}, {0, 2, 1, 1}};  // an op may lie in the hole
  CHECK(sums() == 0);
  problem.ops[2].reservations = {{0, 1, 2, 1}};
  CHECK(sums() == 0);
  problem.warps.resize(1);
  CHECK(sums() == 8);
}
