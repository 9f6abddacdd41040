// Lifetimes (rule 3): with starts fixed, the live copies that the formula can get away with are
// exactly those of the running loop.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/random_loop.hpp"
#include "tests/support/start_bench.hpp"
#include "tests/support/unit_propagation.hpp"

namespace liveness_test {

using namespace twill;
using namespace twill::test;

namespace {

struct Use {
  int to = 1;  ///< 0 = the value's own op
  int distance = 0;
  Cycle hold = 0;
};

/// Op 0 makes a value of one register; the uses are op 0 itself or the other ops.
Problem loop_of(const std::vector<Use>& uses) {
  int last = 0;
  for (const Use& use : uses) last = std::max(last, use.to);
  Problem p = ops(last + 1);
  p.ops[0].registers = 1;
  p.warps = {{"w", 1, 1000, false}};
  for (const Use& use : uses) {
    Edge e;
    e.from = 0;
    e.to = use.to;
    e.distance = use.distance;
    e.hold = use.hold;
    p.edges.push_back(e);
  }
  return p;
}

/// Copies of op 0's value that are live at residue s of the running loop, by counting iterations.
Cycle live_at(const Problem& p, Cycle ii, const std::vector<Cycle>& start, Cycle s) {
  Cycle end = start[0];
  for (const Edge& e : p.edges)
    end = std::max(end, start[static_cast<std::size_t>(e.to)] + e.distance * ii + e.hold);
  Cycle copies = 0;
  for (Cycle t = start[0]; t < end; ++t) copies += t % ii == s;
  return copies;
}

/// All starts that respect the edges (delay 0), at I = ii within the stages: the literals can count
/// the truth at every residue at once, and at no residue less.
int check_lifetimes(const std::vector<Use>& uses, Cycle ii, Cycle stages, bool order) {
  const Problem p = loop_of(uses);
  Bench b(p, ii, stages, order ? StartEncoding::order : StartEncoding::rowstage);
  encode_liveness(*b.m);
  CHECK_FALSE(b.m->relaxed);
  const Lifetime& life = b.m->lifetimes[0];
  REQUIRE(life.counted());
  REQUIRE(life.partial.size() == static_cast<std::size_t>(ii));
  const auto counted = static_cast<Cycle>(life.full.size());
  const auto at_most_full = [&](Cycle copies) {
    if (copies < 0) return kFalseLit;
    return copies >= counted ? kTrueLit : ~life.full[static_cast<std::size_t>(copies)];
  };
  int tried = 0;
  std::vector<Cycle> start(p.ops.size(), 0);
  for (;;) {
    bool valid = true;
    for (const Edge& e : p.edges)
      valid = valid && start[static_cast<std::size_t>(e.to)] + e.distance * ii >= start[0];
    if (valid) {
      ++tried;
      std::vector<Lit> fixed;
      for (std::size_t v = 0; v < start.size(); ++v) b.start(fixed, static_cast<int>(v), start[v]);
      std::vector<Cycle> live;
      for (Cycle s = 0; s < ii; ++s) live.push_back(live_at(p, ii, start, s));
      const Cycle full = *std::min_element(live.begin(), live.end());
      std::vector<Lit> exact = fixed;
      exact.push_back(at_most_full(full));
      for (Cycle s = 0; s < ii; ++s)
        if (live[static_cast<std::size_t>(s)] == full)
          exact.push_back(~life.partial[static_cast<std::size_t>(s)]);
      REQUIRE(satisfiable(b.cnf, exact));
      for (Cycle s = 0; s < ii; ++s) {
        const Cycle copies = live[static_cast<std::size_t>(s)];
        std::vector<Lit> fewer = fixed;  // copies - 1 in all: as full ones, or with a partial one
        fewer.push_back(at_most_full(copies - 1));
        fewer.push_back(~life.partial[static_cast<std::size_t>(s)]);
        REQUIRE_FALSE((copies >= 1 && satisfiable(b.cnf, fewer)));
        fewer.back() = at_most_full(copies - 2);
        REQUIRE_FALSE((copies >= 2 && satisfiable(b.cnf, fewer)));
      }
      // With one use, nothing is left open: propagation gives the count.
      if (uses.size() == 1) {
        const auto closure = propagate(b.cnf, exact);
        REQUIRE(closure);
        for (Cycle s = 0; s < ii; ++s) {
          Cycle seen = closure->of(life.partial[static_cast<std::size_t>(s)]) > 0;
          for (const Lit l : life.full) seen += closure->of(l) > 0;
          REQUIRE(seen == live[static_cast<std::size_t>(s)]);
        }
      }
    }
    std::size_t v = 0;
    while (v < start.size() && ++start[v] == ii * stages) start[v++] = 0;
    if (v == start.size()) return tried;
  }
}

}  // namespace

TEST_CASE("one use: every distance and hold") {
  int tried = 0;
  for (const bool order : {false, true})
    for (Cycle ii = 1; ii <= 4; ++ii)
      for (Cycle stages = 1; stages <= 3; ++stages)
        for (int distance = 0; distance <= 2; ++distance)
          for (Cycle hold = 0; hold <= 2 * ii + 1; ++hold) {
            CAPTURE(order);
            CAPTURE(ii);
            CAPTURE(stages);
            CAPTURE(distance);
            CAPTURE(hold);
            tried += check_lifetimes({{1, distance, hold}}, ii, stages, order);
          }
  CHECK(tried > 5000);
}

TEST_CASE("the op itself is the use") {
  for (Cycle ii = 1; ii <= 4; ++ii)
    for (int distance = 0; distance <= 3; ++distance)
      for (Cycle hold = 0; hold <= 2 * ii + 1; ++hold) {
        CAPTURE(ii);
        CAPTURE(distance);
        CAPTURE(hold);
        CHECK(check_lifetimes({{0, distance, hold}}, ii, 2, false) == 2 * ii);
      }
}

TEST_CASE("several uses, of one op and of several") {
  Random random(3);
  int tried = 0;
  for (int round = 0; round < 160; ++round) {
    const Cycle ii = random.range(1, 4), stages = random.range(1, ii == 4 ? 2 : 3);
    std::vector<Use> uses;
    const int most = static_cast<int>(random.range(1, 2));
    for (std::int64_t i = random.range(2, 3); i > 0; --i)
      uses.push_back({static_cast<int>(random.range(random.percent(80) ? 1 : 0, most)),
                      static_cast<int>(random.range(0, 2)),
                      random.percent(50) ? 0 : random.range(1, 2 * ii + 1)});
    CAPTURE(round);
    CAPTURE(ii);
    CAPTURE(stages);
    tried += check_lifetimes(uses, ii, stages, round % 2 == 1);
  }
  CHECK(tried > 5000);
}

TEST_CASE("less detail never counts a copy that is not there") {
  Random random(4);
  int relaxed = 0;
  for (int round = 0; round < 60; ++round) {
    const Cycle ii = random.range(1, 3), stages = random.range(2, 3);
    const Problem p = loop_of({{1, static_cast<int>(random.range(0, 3)), random.range(0, ii)},
                               {1, static_cast<int>(random.range(0, 2)), 0}});
    for (int detail = 0; detail <= 3; ++detail) {
      Bench b(p, ii, stages, StartEncoding::rowstage);
      b.request.detail = detail;
      encode_liveness(*b.m);
      if (!b.m->relaxed) continue;
      ++relaxed;
      const Lifetime& life = b.m->lifetimes[0];
      CHECK((detail == 0) == !life.counted());
      CHECK(life.full.size() == (detail == 0 ? 0u : std::size_t{1} << detail));
      if (!life.counted()) continue;
      for (Cycle u = 0; u < ii * stages; ++u)
        for (Cycle v = 0; v < ii * stages; ++v) {
          bool valid = true;
          for (const Edge& e : p.edges) valid = valid && v + e.distance * ii >= u;
          if (!valid) continue;
          std::vector<Lit> exact;
          b.start(exact, 0, u);
          b.start(exact, 1, v);
          std::vector<Cycle> live;
          for (Cycle s = 0; s < ii; ++s) live.push_back(live_at(p, ii, {u, v}, s));
          const Cycle full = *std::min_element(live.begin(), live.end());
          if (full < static_cast<Cycle>(life.full.size()))
            exact.push_back(~life.full[static_cast<std::size_t>(full)]);
          for (Cycle s = 0; s < ii; ++s)
            if (live[static_cast<std::size_t>(s)] == full)
              exact.push_back(~life.partial[static_cast<std::size_t>(s)]);
          CHECK(satisfiable(b.cnf, exact));
        }
    }
  }
  CHECK(relaxed > 60);
}

}  // namespace liveness_test
