// Start literals, difference constraints, residue windows and lifetimes: for small I and stages,
// every combination of starts against arithmetic, and what propagation derives.
#include "encoders/time_indexed/starts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "tests/support/encoding_sizes.hpp"
#include "tests/support/start_bench.hpp"
#include "tests/support/unit_propagation.hpp"

namespace starts_test {

using namespace twill;
using namespace twill::test;

namespace {

struct Range {
  Cycle low, high;
  bool operator==(const Range&) const = default;
};

/// Bounds of a number from its order literals: the largest threshold that is true, the smallest
/// that is false.
template <class AtLeast>
Range bounds_of(const Assignment& a, Cycle end, AtLeast at_least) {
  Range r{0, end - 1};
  for (Cycle t = 1; t < end; ++t) {
    if (a.of(at_least(t)) > 0) r.low = t;
    if (a.of(at_least(t)) < 0) r.high = std::min(r.high, t - 1);
  }
  return r;
}
Range row_bounds(const Assignment& a, const Starts& s, int v) {
  return bounds_of(a, s.ii(), [&](Cycle t) { return s.row_at_least(v, t); });
}
Range stage_bounds(const Assignment& a, const Starts& s, int v) {
  return bounds_of(a, s.stages(), [&](Cycle t) { return s.stage_at_least(v, t); });
}
Range start_bounds(const Assignment& a, const Starts& s, int v) {
  return bounds_of(a, s.horizon(), [&](Cycle t) { return s.start_at_least(v, t); });
}

Cycle positive(Cycle x) {
  return std::max<Cycle>(0, x);
}

constexpr std::array<StartEncoding, 5> kStarts = {StartEncoding::rowstage, StartEncoding::order,
                                                  StartEncoding::direct, StartEncoding::channelled,
                                                  StartEncoding::binary};

/// Every I, stages and window, small.
template <class Check>
void each_window(Cycle last_ii, Cycle last_stages, Check check) {
  for (Cycle ii = 1; ii <= last_ii; ++ii)
    for (Cycle stages = 1; stages <= last_stages; ++stages)
      for (Cycle early = 0; early < ii * stages; ++early)
        for (Cycle late = early; late < ii * stages; ++late) {
          CAPTURE(ii);
          CAPTURE(stages);
          CAPTURE(early);
          CAPTURE(late);
          check(ii, stages, early, late);
        }
}

/// Order literals of row and stage in a window: variables, chain clauses and, per start cycle, the
/// literals next to its row and its stage that are not constant.
struct RowLiterals {
  std::int64_t variables = 0, chain = 0, implications = 0;
};
RowLiterals row_literals(Cycle ii, Cycle early, Cycle late) {
  const Cycle first = early / ii, last = late / ii;
  const Cycle low = first == last ? early % ii : 0, high = first == last ? late % ii : ii - 1;
  RowLiterals r{high - low + last - first, positive(high - low - 1) + positive(last - first - 1),
                0};
  for (Cycle t = early; t <= late; ++t)
    r.implications += (t % ii > low) + (t % ii < high) + (t / ii > first) + (t / ii < last);
  return r;
}

}  // namespace

TEST_CASE("rows and stages: models, size, bounds in every window") {
  for (Cycle ii = 1; ii <= 4; ++ii)
    for (Cycle stages = 1; stages <= 3; ++stages)
      for (Cycle early = 0; early < ii * stages; ++early)
        for (Cycle late = early; late < ii * stages; ++late) {
          CAPTURE(ii);
          CAPTURE(stages);
          CAPTURE(early);
          CAPTURE(late);
          const Bench b(ops(1), ii, stages, StartEncoding::rowstage, {{early}, {late}});
          const Cycle first = early / ii, last = late / ii, low = early % ii, high = late % ii;
          const Cycle rows = first == last ? high - low : ii - 1;
          CHECK(b.f.variables() == rows + last - first);
          CHECK(b.f.clauses() ==
                positive(rows - 1) + positive(last - first - 1) +
                    (first < last ? (low > 0 ? 1 : 0) + (high < ii - 1 ? 1 : 0) : 0));
          for (Cycle t = 0; t < ii * stages; ++t) {
            std::vector<Lit> assumed;
            b.start(assumed, 0, t);
            CHECK(satisfiable(b.cnf, assumed) == (early <= t && t <= late));
          }
          // Every box of rows and stages: propagation leaves the bounds of its starts.
          for (Cycle r0 = 0; r0 < ii; ++r0)
            for (Cycle r1 = r0; r1 < ii; ++r1)
              for (Cycle s0 = 0; s0 < stages; ++s0)
                for (Cycle s1 = s0; s1 < stages; ++s1) {
                  Range row{ii, -1}, stage{stages, -1};
                  for (Cycle t = early; t <= late; ++t) {
                    const Cycle r = t % ii, s = t / ii;
                    if (r < r0 || r > r1 || s < s0 || s > s1) continue;
                    row = {std::min(row.low, r), std::max(row.high, r)};
                    stage = {std::min(stage.low, s), std::max(stage.high, s)};
                  }
                  std::vector<Lit> assumed;
                  b.rows(assumed, 0, r0, r1);
                  b.stages(assumed, 0, s0, s1);
                  const auto closure = propagate(b.cnf, assumed);
                  REQUIRE(closure.has_value() == (row.high >= 0));
                  if (!closure) continue;
                  CHECK(row_bounds(*closure, b.starts(), 0) == row);
                  CHECK(stage_bounds(*closure, b.starts(), 0) == stage);
                }
        }
}

TEST_CASE("absolute order: models, size, bounds in every window") {
  for (Cycle ii = 1; ii <= 4; ++ii)
    for (Cycle stages = 1; stages <= 3; ++stages)
      for (Cycle early = 0; early < ii * stages; ++early)
        for (Cycle late = early; late < ii * stages; ++late) {
          CAPTURE(ii);
          CAPTURE(stages);
          CAPTURE(early);
          CAPTURE(late);
          const Bench b(ops(1), ii, stages, StartEncoding::order, {{early}, {late}});
          REQUIRE(b.starts().has_absolute());
          CHECK(b.f.variables() == ii - 1 + late - early);
          if (early == 0 && late == ii * stages - 1)
            CHECK(b.f.clauses() ==
                  positive(ii * stages - 2) + positive(ii - 2) + 2 * stages * (ii - 1));
          for (Cycle t = 0; t < ii * stages; ++t) {
            std::vector<Lit> assumed;
            b.start(assumed, 0, t);
            CHECK(satisfiable(b.cnf, assumed) == (early <= t && t <= late));
          }
          for (Cycle t0 = 0; t0 < ii * stages; ++t0)
            for (Cycle t1 = t0; t1 < ii * stages; ++t1) {
              const Range start{std::max(t0, early), std::min(t1, late)};
              const std::vector<Lit> assumed = {b.starts().start_at_least(0, t0),
                                                ~b.starts().start_at_least(0, t1 + 1)};
              const auto closure = propagate(b.cnf, assumed);
              REQUIRE(closure.has_value() == (start.low <= start.high));
              if (!closure) continue;
              CHECK(start_bounds(*closure, b.starts(), 0) == start);
              CHECK(stage_bounds(*closure, b.starts(), 0) ==
                    Range{start.low / ii, start.high / ii});
              if (start.low / ii == start.high / ii)
                CHECK(row_bounds(*closure, b.starts(), 0) ==
                      Range{start.low % ii, start.high % ii});
            }
        }
}

TEST_CASE("direct: models, size, rows and stages of every start") {
  each_window(4, 3, [](Cycle ii, Cycle stages, Cycle early, Cycle late) {
    const Bench b(ops(1), ii, stages, StartEncoding::direct, {{early}, {late}});
    REQUIRE(b.starts().has_values());
    REQUIRE_FALSE(b.starts().has_absolute());
    const Cycle n = late - early + 1;
    const RowLiterals rows = row_literals(ii, early, late);
    CHECK(b.f.variables() ==
          (n == 1 ? 0 : n) + (n > 5 ? ladder_size(n).variables : 0) + rows.variables);
    if (n > 1)
      CHECK(b.f.clauses() == 1 + (n > 5 ? ladder_size(n) : pairwise_size(n)).clauses + rows.chain +
                                 rows.implications);
    for (Cycle t = 0; t < ii * stages; ++t) {
      std::vector<Lit> assumed;
      b.start(assumed, 0, t);
      CHECK(satisfiable(b.cnf, assumed) == (early <= t && t <= late));
      const std::vector<Lit> here = {b.starts().starts_at(0, t)};
      const auto closure = propagate(b.cnf, here);
      REQUIRE(closure.has_value() == (early <= t && t <= late));
      if (!closure) continue;
      CHECK(row_bounds(*closure, b.starts(), 0) == Range{t % ii, t % ii});
      CHECK(stage_bounds(*closure, b.starts(), 0) == Range{t / ii, t / ii});
      for (Cycle other = early; other <= late; ++other)
        CHECK(closure->of(b.starts().starts_at(0, other)) == (other == t ? 1 : -1));
    }
  });
}

TEST_CASE("channelled: models, size; any set of start cycles ruled out is known to all literals") {
  each_window(3, 2, [](Cycle ii, Cycle stages, Cycle early, Cycle late) {
    const Bench b(ops(1), ii, stages, StartEncoding::channelled, {{early}, {late}});
    REQUIRE(b.starts().has_values());
    REQUIRE(b.starts().has_absolute());
    const Cycle n = late - early + 1;
    const RowLiterals rows = row_literals(ii, early, late);
    CHECK(b.f.variables() == n - 1 + positive(n - 2) + rows.variables);
    if (n > 1) CHECK(b.f.clauses() == n - 2 + 3 * positive(n - 2) + rows.chain + rows.implications);
    for (std::size_t allowed = 0; allowed < std::size_t{1} << n; ++allowed) {
      std::vector<Lit> assumed;
      Range hull{100, -1};
      for (Cycle i = 0; i < n; ++i) {
        if (allowed >> i & 1)
          hull = {std::min(hull.low, early + i), early + i};
        else
          assumed.push_back(~b.starts().starts_at(0, early + i));
      }
      const auto closure = propagate(b.cnf, assumed);
      REQUIRE(closure.has_value() == (allowed != 0));
      if (!closure) continue;
      CHECK(start_bounds(*closure, b.starts(), 0) == hull);
      for (Cycle i = 0; i < n; ++i)
        CHECK(closure->of(b.starts().starts_at(0, early + i)) == (!(allowed >> i & 1)     ? -1
                                                                  : hull.low == hull.high ? 1
                                                                                          : 0));
    }
    for (Cycle t = 0; t < ii * stages; ++t) {
      std::vector<Lit> assumed;
      b.start(assumed, 0, t);
      CHECK(satisfiable(b.cnf, assumed) == (early <= t && t <= late));
    }
  });
}

TEST_CASE("binary: models, size, and bounds that do not get through") {
  int open_bounds = 0;
  each_window(6, 3, [&](Cycle ii, Cycle stages, Cycle early, Cycle late) {
    const Bench b(ops(1), ii, stages, StartEncoding::binary, {{early}, {late}});
    REQUIRE(b.starts().has_bits());
    for (Cycle t = 0; t < ii * stages; ++t) {
      std::vector<Lit> assumed;
      b.start(assumed, 0, t);
      REQUIRE(satisfiable(b.cnf, assumed) == (early <= t && t <= late));
      if (t < early || t > late) continue;
      // All literals of the start follow from its row and stage.
      const auto closure = propagate(b.cnf, assumed);
      REQUIRE(closure);
      const Binary& bits = b.starts().start_bits(0);
      for (std::size_t bit = 0; bit < bits.size(); ++bit)
        REQUIRE(closure->of(bits[bit]) == (t >> bit & 1 ? 1 : -1));
    }
    // Gates are shared: at most two variables a threshold, and a few for bits and adders.
    CHECK(b.f.variables() <= 2 * (ii + stages) + 72);
    std::vector<Lit> assumed;
    b.rows(assumed, 0, ii - 1, ii - 1);
    b.stages(assumed, 0, early / ii, late / ii);
    const auto closure = propagate(b.cnf, assumed);
    if (!closure) return;
    Range stage{stages, -1};
    for (Cycle t = early; t <= late; ++t)
      if (t % ii == ii - 1) stage = {std::min(stage.low, t / ii), t / ii};
    open_bounds += stage_bounds(*closure, b.starts(), 0) != stage;
  });
  CHECK(open_bounds > 0);
}

TEST_CASE("accessors outside the range are constants") {
  const Bench b(ops(1), 3, 2, StartEncoding::order);
  CHECK(b.starts().row_at_least(0, 0).is_true());
  CHECK(b.starts().row_at_least(0, -5).is_true());
  CHECK(b.starts().row_at_least(0, 3).is_false());
  CHECK(b.starts().stage_at_least(0, 0).is_true());
  CHECK(b.starts().stage_at_least(0, 2).is_false());
  CHECK(b.starts().start_at_least(0, 0).is_true());
  CHECK(b.starts().start_at_least(0, 6).is_false());
  CHECK_FALSE(b.starts().start_at_least(0, 5).is_constant());
}

TEST_CASE("difference constraints: models are the arithmetic") {
  for (const StartEncoding start : kStarts)
    for (Cycle ii = 1; ii <= 4; ++ii)
      for (Cycle stages = 1; stages <= 3; ++stages)
        for (int distance = 0; distance <= 2; ++distance)
          for (Cycle delay = 0; delay <= 2 * ii + 3; ++delay) {
            CAPTURE(start);
            CAPTURE(ii);
            CAPTURE(stages);
            CAPTURE(distance);
            CAPTURE(delay);
            Bench b(ops(2), ii, stages, start);
            const Lit condition = b.f.fresh();
            const std::int64_t variables = b.f.variables(), clauses = b.f.clauses();
            b.m->precede(0, 1, distance, delay, condition);
            const Cycle shift = delay - distance * ii, end = ii * stages;
            if (b.starts().has_absolute()) {
              CHECK(b.f.variables() == variables);
              CHECK(b.f.clauses() - clauses <= ii * stages);
            } else if (b.starts().has_values()) {
              std::int64_t pairs = 0;
              for (Cycle u = 0; u < end; ++u) pairs += std::clamp<Cycle>(u + shift, 0, end);
              CHECK(b.f.variables() == variables);
              CHECK(b.f.clauses() - clauses == pairs);
            } else if (b.starts().has_bits()) {
              std::int64_t width = 1;
              while (Cycle{1} << width < end + std::abs(shift)) ++width;
              CHECK(b.f.variables() - variables <= 3 * width - 1);
              CHECK(b.f.clauses() - clauses <= (14 + 3) * width);
            } else {
              const Cycle d = delay % ii;
              CHECK(b.f.variables() == variables + 1 + (d >= 2 ? 1 : 0));
              CHECK(b.f.clauses() - clauses <= ii - d + 1 + positive(d - 1) + 3 * stages);
            }
            for (Cycle u = 0; u < ii * stages; ++u)
              for (Cycle v = 0; v < ii * stages; ++v) {
                std::vector<Lit> assumed = {~condition};
                b.start(assumed, 0, u);
                b.start(assumed, 1, v);
                CHECK(satisfiable(b.cnf, assumed));
                assumed[0] = condition;
                CHECK(satisfiable(b.cnf, assumed) == (v + distance * ii >= u + delay));
              }
          }
}

TEST_CASE("difference constraints on one op, and without condition") {
  for (const StartEncoding start : kStarts)
    for (const Cycle delay : {3, 4, 5}) {
      Bench b(ops(1), 2, 2, start);
      const std::int64_t clauses = b.f.clauses();
      b.m->precede(0, 0, 2, delay, kFalseLit);
      CHECK(b.f.clauses() == clauses);
      b.m->precede(0, 0, 2, delay, kTrueLit);
      CHECK(satisfiable(b.cnf, {}) == (delay <= 4));
    }
}

TEST_CASE(
    "difference constraints by rows: bounds on stages always, on rows once near and far are "
    "decided") {
  int decided = 0;
  for (Cycle ii = 1; ii <= 3; ++ii)
    for (Cycle stages = 2; stages <= 3; ++stages)
      for (int distance = 0; distance <= 1; ++distance)
        for (Cycle delay = 0; delay <= 2 * ii; ++delay) {
          Bench b(ops(2), ii, stages, StartEncoding::rowstage);
          const int before = b.cnf.variables();
          b.m->precede(0, 1, distance, delay, kTrueLit);
          CAPTURE(ii);
          CAPTURE(stages);
          CAPTURE(distance);
          CAPTURE(delay);
          std::array<Range, 4> box{};  // row u, row v, stage u, stage v
          const auto each = [&](auto& self, std::size_t i) -> void {
            if (i < 4) {
              const Cycle end = i < 2 ? ii : stages;
              for (Cycle low = 0; low < end; ++low)
                for (Cycle high = low; high < end; ++high) {
                  box[i] = {low, high};
                  self(self, i + 1);
                }
              return;
            }
            std::array<Range, 4> exact;
            exact.fill({100, -1});
            bool some = false;
            for (Cycle u = 0; u < ii * stages; ++u)
              for (Cycle v = 0; v < ii * stages; ++v) {
                const std::array<Cycle, 4> point = {u % ii, v % ii, u / ii, v / ii};
                bool inside = v + distance * ii >= u + delay;
                for (std::size_t k = 0; k < 4; ++k)
                  inside = inside && box[k].low <= point[k] && point[k] <= box[k].high;
                if (!inside) continue;
                some = true;
                for (std::size_t k = 0; k < 4; ++k)
                  exact[k] = {std::min(exact[k].low, point[k]), std::max(exact[k].high, point[k])};
              }
            std::vector<Lit> assumed;
            b.rows(assumed, 0, box[0].low, box[0].high);
            b.rows(assumed, 1, box[1].low, box[1].high);
            b.stages(assumed, 0, box[2].low, box[2].high);
            b.stages(assumed, 1, box[3].low, box[3].high);
            const auto closure = propagate(b.cnf, assumed);
            REQUIRE(closure.has_value() == some);
            if (!closure) return;
            REQUIRE(stage_bounds(*closure, b.starts(), 0) == exact[2]);
            REQUIRE(stage_bounds(*closure, b.starts(), 1) == exact[3]);
            for (int x = before + 1; x <= b.cnf.variables(); ++x)
              if (closure->of(x) == 0) return;
            ++decided;
            REQUIRE(row_bounds(*closure, b.starts(), 0) == exact[0]);
            REQUIRE(row_bounds(*closure, b.starts(), 1) == exact[1]);
          };
          each(each, 0);
        }
  CHECK(decided > 1000);
}

TEST_CASE("difference constraints by absolute order: bounds consistent") {
  for (const StartEncoding start : {StartEncoding::order, StartEncoding::channelled})
    for (Cycle ii = 2; ii <= 3; ++ii)
      for (int distance = 0; distance <= 2; ++distance)
        for (Cycle delay = 0; delay <= 2 * ii; ++delay) {
          const Cycle stages = 2, end = ii * stages;
          Bench b(ops(2), ii, stages, start);
          b.m->precede(0, 1, distance, delay, kTrueLit);
          const Cycle shift = delay - distance * ii;
          for (Cycle u0 = 0; u0 < end; ++u0)
            for (Cycle u1 = u0; u1 < end; ++u1)
              for (Cycle v0 = 0; v0 < end; ++v0)
                for (Cycle v1 = v0; v1 < end; ++v1) {
                  const Range u{u0, std::min(u1, v1 - shift)}, v{std::max(v0, u0 + shift), v1};
                  const std::vector<Lit> assumed = {
                      b.starts().start_at_least(0, u0), ~b.starts().start_at_least(0, u1 + 1),
                      b.starts().start_at_least(1, v0), ~b.starts().start_at_least(1, v1 + 1)};
                  const auto closure = propagate(b.cnf, assumed);
                  REQUIRE(closure.has_value() == (u.low <= u.high));
                  if (!closure) continue;
                  CHECK(start_bounds(*closure, b.starts(), 0) == u);
                  CHECK(start_bounds(*closure, b.starts(), 1) == v);
                }
        }
}

TEST_CASE("difference constraints by conflict pairs: forward checking, and no more") {
  int silent = 0;
  for (Cycle ii = 2; ii <= 3; ++ii)
    for (int distance = 0; distance <= 2; ++distance)
      for (Cycle delay = 0; delay <= 2 * ii; ++delay) {
        const Cycle end = 2 * ii, shift = delay - distance * ii;
        Bench b(ops(2), ii, 2, StartEncoding::direct);
        b.m->precede(0, 1, distance, delay, kTrueLit);
        for (Cycle t = 0; t < end; ++t) {
          const std::vector<Lit> from = {b.starts().starts_at(0, t)};
          const auto closure = propagate(b.cnf, from);
          REQUIRE(closure.has_value() == (t + shift < end));
          for (Cycle v = 0; v < end && closure; ++v) {
            const bool alone = t + shift >= end - 1 && v == end - 1;
            CHECK(closure->of(b.starts().starts_at(1, v)) == (v < t + shift ? -1 : alone ? 1 : 0));
          }
        }
        // u in its two last cycles that are possible: v's first ones would be ruled out.
        const Cycle last = std::min(end - 1, end - 1 - shift);
        if (last < 1 || last - 1 + shift < 1) continue;
        std::vector<Lit> window;
        for (Cycle t = 0; t < last - 1; ++t) window.push_back(~b.starts().starts_at(0, t));
        const auto closure = propagate(b.cnf, window);
        REQUIRE(closure);
        silent += closure->of(b.starts().starts_at(1, 0)) == 0;
      }
  CHECK(silent > 0);
}

TEST_CASE("difference constraints by bits: conflicts once both starts are known") {
  for (Cycle ii = 1; ii <= 5; ++ii)
    for (int distance = 0; distance <= 2; ++distance)
      for (Cycle delay = 0; delay <= 2 * ii; ++delay) {
        Bench b(ops(2), ii, 3, StartEncoding::binary);
        b.m->precede(0, 1, distance, delay, kTrueLit);
        for (Cycle u = 0; u < 3 * ii; ++u)
          for (Cycle v = 0; v < 3 * ii; ++v) {
            std::vector<Lit> assumed;
            b.start(assumed, 0, u);
            b.start(assumed, 1, v);
            CHECK(propagate(b.cnf, assumed).has_value() == (v + distance * ii >= u + delay));
          }
      }
}

TEST_CASE("residue windows: propagated exactly where the window covers") {
  for (const StartEncoding start : kStarts)
    for (Cycle ii = 1; ii <= 6; ++ii)
      for (Cycle offset = 0; offset <= ii + 1; ++offset)
        for (Cycle length = 1; length <= ii + 1; ++length) {
          Bench b(ops(1), ii, 1, start);
          const std::int64_t variables = b.f.variables(), clauses = b.f.clauses();
          const std::vector<Lit> covered = b.m->residues(0, offset, length);
          REQUIRE(covered.size() == static_cast<std::size_t>(ii));
          CAPTURE(ii);
          CAPTURE(offset);
          CAPTURE(length);
          CHECK(b.f.variables() - variables == (length >= ii ? 0 : ii - 2));
          CHECK(b.f.clauses() - clauses == (length >= ii ? 0 : ii + length - 3));
          CHECK(&b.m->residues(0, offset + ii, length) == &b.m->residues(0, offset, length));
          for (Cycle row = 0; row < ii; ++row) {
            std::vector<Lit> assumed;
            b.rows(assumed, 0, row, row);
            const auto closure = propagate(b.cnf, assumed);
            REQUIRE(closure);
            for (Cycle s = 0; s < ii; ++s) {
              bool inside = false;
              for (Cycle t = 0; t < length; ++t) inside = inside || (row + offset + t) % ii == s;
              const int value = closure->of(covered[static_cast<std::size_t>(s)]);
              CHECK((value > 0) == inside);
              // Where it is not implied it may be false.
              if (!inside) {
                std::vector<Lit> not_covered = assumed;
                not_covered.push_back(~covered[static_cast<std::size_t>(s)]);
                CHECK(satisfiable(b.cnf, not_covered));
              }
            }
          }
        }
}

}  // namespace starts_test
