// From the orders of a schedule to the best schedule with those orders, against enumeration.
#include "graph/bounds/tighten.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "engine/include/twill.hpp"
#include "graph/list_scheduling/list_schedule.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"
#include "graph/verify.hpp"
#include "tests/support/random_loop.hpp"

namespace tighten_test {

using namespace twill;
using namespace twill::test;

namespace {

Cycle floor_div(Cycle a, Cycle b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/// Something present in [begin, end) of every iteration.
struct Span {
  Cycle begin, end;
};

/// Units' segments, then memories' values, then slots' values; a group each.
std::vector<std::vector<Span>> spans(const Problem& p, const Schedule& s) {
  std::vector<std::vector<Span>> groups;
  for (std::size_t f = 0; f < p.units.size(); ++f) {
    groups.emplace_back();
    for (std::size_t v = 0; v < p.ops.size(); ++v)
      for (const Reservation& r : p.ops[v].reservations)
        if (r.unit == static_cast<int>(f))
          groups.back().push_back({s.start[v] + r.offset, s.start[v] + r.offset + r.length});
  }
  const auto value = [&](std::size_t u) {
    Span span{s.start[u], s.start[u]};
    for (const Edge& e : p.edges)
      if (e.from == static_cast<int>(u))
        span.end = std::max(span.end, s.start[static_cast<std::size_t>(e.to)] +
                                          e.distance * s.initiation_interval + e.hold);
    return span;
  };
  const auto used = [&](std::size_t u) {
    return std::any_of(p.edges.begin(), p.edges.end(),
                       [&](const Edge& e) { return e.from == static_cast<int>(u); });
  };
  for (std::size_t m = 0; m < p.memories.size(); ++m) {
    groups.emplace_back();
    const std::vector<Amount> live = memory_charges(p, static_cast<int>(m)).live;
    for (std::size_t u = 0; u < p.ops.size(); ++u)
      if (live[u] > 0 && used(u)) groups.back().push_back(value(u));
  }
  for (std::size_t w = 0; w < p.warps.size(); ++w) {
    groups.emplace_back();
    for (std::size_t u = 0; u < p.ops.size(); ++u)
      if (p.ops[u].registers > 0 && s.warp[u] == static_cast<int>(w) && used(u))
        groups.back().push_back(value(u));
  }
  return groups;
}

/// Pairs (v, o): v waits and o executes on its slot.
std::vector<std::pair<std::size_t, std::size_t>> waits(const Problem& p, const Schedule& s) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    if (p.warps[static_cast<std::size_t>(s.warp[v])].variable_latency) continue;
    const bool waits = std::any_of(p.edges.begin(), p.edges.end(), [&](const Edge& e) {
      const auto u = static_cast<std::size_t>(e.from);
      return e.to == static_cast<int>(v) &&
             (e.blocking || (p.ops[u].spill > 0 && s.warp[u] != s.warp[v]));
    });
    for (std::size_t o = 0; o < p.ops.size() && waits; ++o)
      if (o != v && p.ops[o].cycles > 0 && s.warp[o] == s.warp[v]) pairs.emplace_back(v, o);
  }
  return pairs;
}

/// Does `next`, a schedule of `problem` on the same slots, obey the dependences and keep every
/// decision that `given` made in `ordered`: at the begin of each span, of every other span of the
/// group, no more have begun and no fewer have ended; no charged ring deeper; each waiting op in
/// the same turn of the ops beside it, after their end?
bool keeps_orders(const Problem& problem, const Schedule& next, const Problem& ordered,
                  const Schedule& given) {
  const Cycle ii = next.initiation_interval, old_ii = given.initiation_interval;
  for (const Edge& e : problem.edges) {
    const auto u = static_cast<std::size_t>(e.from), v = static_cast<std::size_t>(e.to);
    const Cycle spill = next.warp[u] == next.warp[v] ? 0 : problem.ops[u].spill;
    if (next.start[v] + e.distance * ii < next.start[u] + e.delay + spill) return false;
  }
  const auto now = spans(problem, next), before = spans(ordered, given);
  for (std::size_t g = 0; g < now.size(); ++g)
    for (std::size_t a = 0; a < now[g].size(); ++a)
      for (std::size_t b = 0; b < now[g].size(); ++b) {
        const Cycle begun = floor_div(now[g][b].begin - now[g][a].begin, ii);
        const Cycle ended = floor_div(now[g][b].begin - now[g][a].end, ii);
        if (begun > floor_div(before[g][b].begin - before[g][a].begin, old_ii)) return false;
        if (ended < floor_div(before[g][b].begin - before[g][a].end, old_ii)) return false;
      }
  for (const int load : charged_loads(problem))
    if (ring_depth(problem, next, load) > ring_depth(ordered, given, load)) return false;
  for (const auto& [v, o] : waits(problem, next)) {
    const Cycle apart = next.start[v] - next.start[o];
    const Cycle turn = floor_div(given.start[v] - given.start[o], old_ii);
    if (floor_div(apart, ii) != turn || apart - turn * ii < problem.ops[o].cycles) return false;
  }
  return true;
}

/// The smallest I in [low, high] with starts in [0, window) that keep the orders, and the shortest
/// of them, by trying all.
std::optional<Schedule> by_enumeration(const Problem& problem, const Problem& ordered,
                                       const Schedule& given, Cycle low, Cycle high, Cycle window) {
  std::optional<Schedule> best;
  for (Cycle ii = low; ii <= high && !best; ++ii) {
    Schedule next{ii, 0, std::vector<Cycle>(problem.ops.size(), 0), given.warp};
    for (;;) {
      if (keeps_orders(problem, next, ordered, given)) {
        next.length = schedule_length(problem, next.start);
        if (!best || next.length < best->length) best = next;
        // The earliest starts are earliest for every op.
        for (std::size_t v = 0; v < next.start.size(); ++v)
          best->start[v] = std::min(best->start[v], next.start[v]);
      }
      std::size_t v = 0;
      while (v < next.start.size() && ++next.start[v] == window) next.start[v++] = 0;
      if (v == next.start.size()) break;
    }
  }
  return best;
}

LoopKnobs tiny() {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  knobs.max_spill = 2;
  return knobs;
}

/// A valid schedule of `problem`, if a few random ones contain one.
std::optional<Schedule> some_schedule(const Problem& problem, Random& random, Cycle max_interval) {
  for (int attempt = 0; attempt < 12; ++attempt) {
    Schedule s = random_schedule(problem, random, max_interval);
    if (!verify(problem, s)) return s;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("every valid schedule keeps its own orders") {
  Random random(1);
  int valid = 0;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    CAPTURE(seed);
    const Problem p = random_loop(seed);
    const auto s = some_schedule(p, random, 9);
    if (!s) continue;
    ++valid;
    CHECK(keeps_orders(p, *s, p, *s));
  }
  CHECK(valid > 400);
}

TEST_CASE("tightened schedules are valid and never worse") {
  Random random(2);
  int shorter = 0, faster = 0, valid = 0, others = 0;
  for (std::uint64_t seed = 1000; seed < 4000; ++seed) {
    CAPTURE(seed);
    const Problem p = random_loop(seed);
    const auto s = some_schedule(p, random, 12);
    if (!s) continue;
    ++valid;
    const Cycle ii = s->initiation_interval;
    const auto same = tighten(p, p, *s, ii, ii);
    REQUIRE(same);
    CHECK_FALSE(verify(p, *same));
    CHECK(same->initiation_interval == ii);
    CHECK(same->warp == s->warp);
    for (std::size_t v = 0; v < p.ops.size(); ++v) CHECK(same->start[v] <= s->start[v]);
    shorter += same->length < s->length;
    const auto any = tighten(p, p, *s, 1, ii);
    REQUIRE(any);
    CHECK_FALSE(verify(p, *any));
    CHECK(any->initiation_interval <= ii);
    CHECK(keeps_orders(p, *any, p, *s));
    faster += any->initiation_interval < ii;
    // Once tight, nothing is left to gain.
    const auto again = tighten(p, p, *any, 1, any->initiation_interval);
    REQUIRE(again);
    CHECK(again->initiation_interval == any->initiation_interval);
    CHECK(again->length <= any->length);
    CHECK_FALSE(tighten(p, p, *s, ii, ii - 1).has_value());
    // What is allowed is an interval up to its own I, also where that is not the end of the range:
    // limits of stages are met by halving (engine/interval.cpp).
    const Cycle least = any->initiation_interval;
    CHECK_FALSE(tighten(p, p, *s, 1, least - 1).has_value());
    for (const Cycle middle : {least, least + (ii - least) / 2}) {
      const auto below = tighten(p, p, *s, 1, middle), above = tighten(p, p, *s, middle, ii);
      CHECK((below && below->initiation_interval == least));
      CHECK((above && above->initiation_interval == middle));
      others += !monotone_in_ii(p) && middle < ii;
    }
  }
  CHECK(others > 100);
  CHECK(valid > 1500);
  CHECK(shorter > 200);
  CHECK(faster > 500);
}

TEST_CASE("tightened schedules are the best with their orders: enumeration") {
  Random random(3);
  int compared = 0;
  for (std::uint64_t seed = 5000; seed < 5450; ++seed) {
    CAPTURE(seed);
    const Problem p = random_loop(seed, tiny());
    const auto s = some_schedule(p, random, 7);
    if (!s) continue;
    const Cycle window = *std::max_element(s->start.begin(), s->start.end()) + 3;
    if (window > 14) continue;
    const Cycle ii = s->initiation_interval;
    for (const Cycle low : {Cycle{1}, ii}) {
      const auto tight = tighten(p, p, *s, low, ii);
      const auto best = by_enumeration(p, p, *s, low, ii, window);
      REQUIRE(tight);
      REQUIRE(best);
      if (*std::max_element(tight->start.begin(), tight->start.end()) >= window) continue;
      ++compared;
      CHECK(tight->initiation_interval == best->initiation_interval);
      CHECK(tight->length == best->length);
      CHECK(tight->start == best->start);
    }
  }
  CHECK(compared > 300);
}

TEST_CASE("orders of one problem in another: enumeration") {
  Random random(4);
  int lifted = 0, refused = 0;
  for (std::uint64_t seed = 6000; seed < 6500; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs = tiny();
    knobs.multi_segment = false;  // then both are monotone in I
    const Problem real = random_loop(seed, knobs);
    Problem ordered = real;  // the same loop with other cycles
    const auto other = [&](Cycle x) { return x == 0 ? Cycle{0} : random.range(1, 3); };
    for (Op& op : ordered.ops) {
      op.cycles = other(op.cycles);
      op.spill = other(op.spill);
      for (Reservation& r : op.reservations) r.length = random.range(1, op.cycles);
    }
    for (Edge& e : ordered.edges) {
      e.delay = other(e.delay);
      e.hold = other(e.hold);
    }
    const auto s = some_schedule(ordered, random, 7);
    if (!s) continue;
    const Cycle high = random.range(3, 9), window = 13;
    const auto tight = tighten(real, ordered, *s, 1, high);
    const auto best = by_enumeration(real, ordered, *s, 1, high, window);
    if (!tight) {
      CHECK_FALSE(best.has_value());
      ++refused;
      continue;
    }
    CHECK_FALSE(verify(real, *tight));
    if (*std::max_element(tight->start.begin(), tight->start.end()) >= window) continue;
    ++lifted;
    REQUIRE(best);
    CHECK(tight->initiation_interval == best->initiation_interval);
    CHECK(tight->length == best->length);
    CHECK(tight->start == best->start);
  }
  CHECK(lifted > 150);
  CHECK(refused > 20);
}

// Of the constraints those are left out that others imply, so that what keeps all orders is as good
// as with all of them.
TEST_CASE("what constraints are left out for keeps its orders in larger loops") {
  Random random(5);
  int own = 0, lifted = 0, faster = 0, waiting = 0;
  for (std::uint64_t seed = 7000; seed < 8500; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.min_ops = 5;
    knobs.max_ops = 14;
    knobs.max_units = 2;
    knobs.max_slots = 2;
    knobs.multi_segment = seed % 3 == 0;
    const Problem real = random_loop(seed, knobs);
    Problem ordered = real;
    const bool same = seed % 2 == 0 || knobs.multi_segment;
    for (Op& op : ordered.ops) {
      if (same) break;
      op.cycles = op.cycles == 0 ? 0 : op.reservations.empty() ? random.range(0, 1) : 1;
      for (Reservation& r : op.reservations) r.length = random.range(1, op.cycles);
    }
    for (Edge& e : ordered.edges)
      if (!same && e.delay > 0) e.delay = random.range(0, 1);
    const auto s = list_schedule(ordered, random.range(1, 12));
    if (!s || verify(ordered, *s)) continue;
    const Cycle high = same ? s->initiation_interval : 4 * s->initiation_interval;
    const auto tight = tighten(real, ordered, *s, 1, high);
    if (!tight) {
      CHECK_FALSE(same);
      continue;
    }
    CHECK_FALSE(verify(real, *tight));
    CHECK(keeps_orders(real, *tight, ordered, *s));
    ++(same ? own : lifted);
    faster += same && tight->initiation_interval < s->initiation_interval;
    waiting += !waits(real, *s).empty();
  }
  CHECK(own > 500);
  CHECK(lifted > 200);
  CHECK(faster > 100);
  CHECK(waiting > 500);
}

TEST_CASE("the critical recurrence is what keeps the orders from a smaller I") {
  int critical_ones = 0, free_ones = 0, units = 0, waiting = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs = tiny();
    knobs.multi_segment = false;
    const Problem problem = random_loop(seed, knobs);
    Random random(seed);
    const auto given = some_schedule(problem, random, 8);
    if (!given) continue;
    const Cycle ii = given->initiation_interval;
    const auto least = tighten(problem, problem, *given, 1, ii);
    REQUIRE(least);
    const auto critical = critical_recurrence(problem, *given);
    if (!critical) {
      CHECK(least->initiation_interval == 1);
      ++free_ones;
      continue;
    }
    ++critical_ones;
    CHECK(critical->ii == least->initiation_interval);
    REQUIRE(critical->iterations > 0);
    CHECK((critical->cycles + critical->iterations - 1) / critical->iterations == critical->ii);
    REQUIRE_FALSE(critical->steps.empty());
    Cycle sum = 0;
    for (std::size_t i = 0; i < critical->steps.size(); ++i) {
      const CriticalRecurrence::Step& step = critical->steps[i];
      sum += step.cycles;
      CHECK(step.to == critical->steps[(i + 1) % critical->steps.size()].from);
      units += step.reason.starts_with("unit ");
      waiting += step.reason.starts_with("wait of ");
    }
    CHECK(sum == critical->cycles);
  }
  CHECK(critical_ones > 60);
  CHECK(free_ones > 5);
  CHECK(units > 10);
  CHECK(waiting > 3);
}

TEST_CASE(
    "stopped at any moment, what is returned is a schedule as good as the given one, or nothing") {
  int stopped = 0, better = 0, nothing = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed);
    if (!monotone_in_ii(problem)) continue;
    const Solution solution = solve(problem);
    if (!solution.schedule) continue;
    // The optimum at twice its I is a schedule with much to tighten, where it is one.
    Schedule loose = *solution.schedule;
    loose.initiation_interval *= 2;
    if (verify(problem, loose)) continue;
    const auto full = tighten(problem, problem, loose, 1, loose.initiation_interval);
    REQUIRE(full);
    for (int most = 0;; ++most) {
      CAPTURE(most);
      int asked = 0;
      const auto part = tighten(problem, problem, loose, 1, loose.initiation_interval,
                                [&] { return asked++ >= most; });
      if (part) CHECK_FALSE(verify(problem, *part));
      if (part) CHECK(part->initiation_interval <= loose.initiation_interval);
      if (part) CHECK(part->initiation_interval >= full->initiation_interval);
      if (asked <= most) {  // never stopped
        REQUIRE(part);
        CHECK(*part == *full);
        break;
      }
      ++stopped;
      ++(part ? better : nothing);
    }
  }
  CHECK(stopped > 300);
  CHECK(better > 30);
  CHECK(nothing > 100);
}

}  // namespace tighten_test
