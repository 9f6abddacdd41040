// Sequences of the order form (encoders/order/sequence.cpp): every schedule that verify() accepts
// satisfies their sums, on random loops and with every schedule of tiny ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "encoders/order/order.hpp"
#include "encoders/sinks.hpp"
#include "graph/index.hpp"
#include "graph/verify.hpp"
#include "tests/support/all_starts.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/unit_propagation.hpp"

namespace sequence_test {

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
    op.cycles = random.range(random.percent(20) ? 0 : 1, 3);
    if (op.cycles > 0 && random.percent(70))
      op.reservations = {{0, 0, random.percent(50) ? op.cycles : random.range(1, op.cycles), 1}};
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

/// An encoding with its clauses.
struct Encoded {
  Encoded(const Problem& problem, const OrderRequest& request)
      : formula(cnf), encoding(formula, problem, request, {}) {}
  MemoryCnf cnf;
  Formula formula;
  OrderEncoding encoding;
};

/// Do ops start together that the encoding says do?
bool together(const Encoded& encoded, const Schedule& schedule) {
  const Differences& rows = encoded.encoding.rows();
  const int ops = static_cast<int>(schedule.start.size());
  for (int u = 0; u < ops; ++u)
    for (int v = 0; v < u; ++v)
      if (rows.node(u) == rows.node(v) && schedule.start[at(u)] != schedule.start[at(v)])
        return false;
  return true;
}

/// The sums that the schedule's rows break. Of their terms, those count that are atoms which hold,
/// and those that clauses over such atoms imply.
int broken(const Encoded& encoded, const Schedule& schedule) {
  const Differences& rows = encoded.encoding.rows();
  const Cycle ii = schedule.initiation_interval;
  std::vector<Cycle> row(at(rows.nodes()), ii);
  row[0] = 0;
  for (std::size_t v = 0; v < schedule.start.size(); ++v)
    row[at(rows.node(static_cast<int>(v)))] = schedule.start[v] % ii;
  for (const Difference& d : rows.facts()) {  // a sequence's first: the least row of its members
    const bool member = rows.is_row(d.to) && !rows.is_row(d.from) && !rows.is_stage(d.from);
    if (member && d.from != 0) row[at(d.from)] = std::min(row[at(d.from)], row[at(d.to)]);
  }
  Assignment truth(encoded.cnf.variables());
  for (const DifferenceAtom& a : rows.atoms()) {
    if (rows.is_stage(a.difference.from) || rows.is_stage(a.difference.to)) continue;
    const bool held = row[at(a.difference.to)] - row[at(a.difference.from)] >=
                      a.difference.at(ii, schedule.length);
    truth.set(held ? a.variable : -a.variable);
  }
  for (std::size_t i = 0; i < encoded.cnf.clauses(); ++i) {  // those that are read come in order
    int open = 0, last = 0;
    bool satisfied = false;
    for (const int l : encoded.cnf.clause(i)) {
      satisfied = satisfied || truth.of(l) > 0;
      if (truth.of(l) == 0) last = l, ++open;
    }
    if (!satisfied && open == 1) truth.set(last);
  }
  int count = 0;
  for (const DifferenceSum& sum : rows.sums()) {
    Cycle least = sum.difference.at(ii, schedule.length);
    for (const DifferenceSum::Term& term : sum.terms)
      if (truth.of(term.variable) > 0) least += term.amount;
    count += row[at(sum.difference.to)] - row[at(sum.difference.from)] < least;
  }
  return count;
}

}  // namespace

TEST_CASE("every schedule of tiny crowded loops satisfies the sums, and tightly") {
  int schedules = 0, sums = 0, sequences = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Problem problem = crowded_loop(random, 3);
    for (Cycle ii = 3; ii <= 8; ++ii) {
      CAPTURE(ii);
      OrderRequest request;
      request.ii_low = order_range_allowed(problem, 3, ii) ? 3 : ii;
      request.ii_high = ii;
      request.stages = random.range(0, 2);
      const Encoded encoded(problem, request);
      sums += static_cast<int>(encoded.encoding.rows().sums().size());
      sequences += !encoded.encoding.rows().sums().empty();
      Schedule schedule{ii, 0, {0, 0, 0}, {0, 0, 0}};
      for_all_starts(3, 2 * ii, [&](const std::vector<Cycle>& starts) {
        schedule.start = starts;
        schedule.length = schedule_length(problem, schedule.start);
        if (!together(encoded, schedule) || verify(problem, schedule)) return;
        ++schedules;
        REQUIRE(broken(encoded, schedule) == 0);
      });
    }
  }
  CHECK(schedules > 10'000);
  CHECK(sequences > 100);
  CHECK(sums >= 6 * sequences);
}

TEST_CASE("what is no schedule breaks sums: they exclude something") {
  // Three ops of two cycles on one unit at I = 6: the third begins 4 after the first.
  const Problem problem = ops_on_one_unit(3, 2, 1);
  OrderRequest request;
  request.ii_low = request.ii_high = 6;
  const Encoded encoded(problem, request);
  const Differences& rows = encoded.encoding.rows();
  CHECK(rows.sums().size() == 6);
  CHECK(rows.nodes() == 1 + 2 * 3 + 1);
  CHECK_FALSE(rows.is_stage(7));
  CHECK(rows.is_stage(6));
  CHECK(broken(encoded, {6, 6, {0, 2, 4}, {0, 0, 0}}) == 0);
  CHECK(broken(encoded, {6, 6, {1, 5, 3}, {0, 0, 0}}) == 0);  // runs past I
  CHECK(broken(encoded, {6, 6, {0, 2, 3}, {0, 0, 0}}) == 0);  // no order, no term
  CHECK(broken(encoded, {5, 5, {0, 2, 4}, {0, 0, 0}}) > 0);
}

TEST_CASE("guests and instants take the slack of a slot") {
  // a and b wait, for two cycles each; e executes for three beside them, on a unit of its own, so
  // that it makes one gap 1 + 3 - 2 = 2 cycles longer; z waits for nobody's instant.
  Problem problem = ops_on_one_unit(2, 2, 1);
  problem.units.push_back({"V", 1});
  Op e = problem.ops[0], z = problem.ops[0];
  e.id = "e";
  e.cycles = 3;
  e.reservations = {{1, 0, 3, 1}};
  z.id = "z";
  z.cycles = 0;
  z.reservations = {};
  problem.ops.insert(problem.ops.end(), {e, z});
  for (const int v : {0, 1, 3}) problem.edges.push_back({v, v, 0, 1, true, 0});
  OrderRequest request;
  request.ii_low = request.ii_high = 7;
  const Encoded encoded(problem, request);
  // The size that order/sequence.cpp claims: 1 + 2 variables for e, 2 x 2 for z; 2 x 2 + 1 clauses
  // for e, 2 x 2 for z. All other variables here are atoms.
  std::vector<char> atom(at(encoded.cnf.variables()) + 1, 0);
  for (const DifferenceAtom& a : encoded.encoding.rows().atoms()) atom[at(a.variable)] = 1;
  CHECK(std::count(atom.begin() + 1, atom.end(), 0) == 7);
  int clauses = 0;
  for (std::size_t i = 0; i < encoded.cnf.clauses(); ++i) {
    const auto clause = encoded.cnf.clause(i);
    clauses += std::any_of(clause.begin(), clause.end(),
                           [&](int l) { return atom[at(l < 0 ? -l : l)] == 0; });
  }
  CHECK(clauses == 9);
  const std::vector<int> slots(4, 0);
  for (Cycle turn = 0; turn < 7; ++turn) {
    CAPTURE(turn);
    Schedule full{7, 0, {turn, turn + 4, turn + 1, turn + 6}, slots};
    full.length = schedule_length(problem, full.start);
    REQUIRE_FALSE(verify(problem, full));
    CHECK(broken(encoded, full) == 0);
  }
  // I = 6 is too small, whatever comes first.
  const auto at_six = [&](std::vector<Cycle> start) {
    return broken(encoded, {6, 12, std::move(start), slots}) > 0;
  };
  CHECK(at_six({0, 4, 1, 5}));
  CHECK(at_six({1, 5, 2, 0}));
  CHECK(at_six({2, 0, 3, 5}));
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

}  // namespace sequence_test
