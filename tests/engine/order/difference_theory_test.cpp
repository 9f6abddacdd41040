// Difference logic of the order engine against Bellman and Ford: random atoms asserted and taken
// back, closure, conflicts, decided atoms and their explanations.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "encoders/sinks.hpp"
#include "engine/budget.hpp"
#include "engine/order/difference_theory.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace difference_theory_test {

using namespace twill;
using namespace twill::test;

namespace {

struct Arc {
  int from, to;
  Cycle weight;
};

/// Longest paths from `source`; nullopt when there is a positive cycle.
std::optional<std::vector<Cycle>> longest(int nodes, const std::vector<Arc>& arcs, int source) {
  constexpr Cycle kNone = -1'000'000'000;
  std::vector<Cycle> d(static_cast<std::size_t>(nodes), kNone);
  d[static_cast<std::size_t>(source)] = 0;
  for (int round = 0; round <= nodes; ++round) {
    bool changed = false;
    for (const Arc& a : arcs) {
      const Cycle from = d[static_cast<std::size_t>(a.from)];
      Cycle& to = d[static_cast<std::size_t>(a.to)];
      if (from > kNone / 2 && from + a.weight > to) {
        to = from + a.weight;
        changed = true;
      }
    }
    if (!changed) return d;
  }
  return std::nullopt;
}

struct Instance {
  Cycle ii, deadline;
  std::vector<Difference> facts;
  std::vector<DifferenceAtom> atoms;
  std::vector<DifferenceSum> sums;  // some with a variable that has no atom
  int nodes;
};

/// `many`: atoms and weights, so that the closure changes often.
Instance random_instance(Random& random, bool sums, bool many) {
  Instance in;
  const int ops = static_cast<int>(random.range(2, many ? 4 : 6));
  in.nodes = ops + 1;
  in.ii = random.range(2, 12) * (many ? 200 : 1);
  in.deadline = random.range(5, 40) * (many ? 10 : 1);
  for (int v = 1; v <= ops; ++v) {
    in.facts.push_back({0, v, 0, 0});
    in.facts.push_back({v, 0, 1, -1});
  }
  const int atoms = static_cast<int>(many ? random.range(120, 160) : random.range(3, 14));
  for (int a = 1; a <= atoms; ++a) {
    int from = static_cast<int>(random.range(0, ops));
    int to = static_cast<int>(random.range(0, ops));
    if (to == from) to = (to + 1) % (ops + 1);
    const bool forward = many && !random.percent(10);
    if (forward && from > to) std::swap(from, to);
    in.atoms.push_back(
        {{from, to, random.range(0, many ? 200 : 8), forward ? 0 : random.range(-1, 0),
          static_cast<int>(random.range(0, 3) == 0)},
         a});
  }
  for (int s = 0; sums && s < 4; ++s) {
    const int from = static_cast<int>(random.range(0, ops));
    const int to = (from + static_cast<int>(random.range(1, ops))) % (ops + 1);
    DifferenceSum sum{{from, to, 1, -1}, {}};
    for (int v = 1; v <= atoms + 1; ++v)
      if (random.percent(30)) sum.terms.push_back({v, random.range(1, 5)});
    in.facts.push_back(sum.difference);
    in.sums.push_back(std::move(sum));
  }
  return in;
}

std::vector<Arc> arcs_of(const Instance& in, const std::vector<int>& asserted) {
  std::vector<Arc> arcs;
  for (const Difference& f : in.facts) arcs.push_back({f.from, f.to, f.at(in.ii, in.deadline)});
  for (const int v : asserted) {
    if (v > static_cast<int>(in.atoms.size())) continue;
    const Difference& d = in.atoms[static_cast<std::size_t>(v - 1)].difference;
    arcs.push_back({d.from, d.to, d.at(in.ii, in.deadline)});
  }
  for (const DifferenceSum& sum : in.sums) {
    const Difference& d = sum.difference;
    arcs.push_back({d.from, d.to, d.at(in.ii, in.deadline)});
    for (const DifferenceSum::Term& term : sum.terms)
      if (std::find(asserted.begin(), asserted.end(), term.variable) != asserted.end())
        arcs.back().weight += term.amount;
  }
  return arcs;
}

/// Do facts and the asserted atoms exclude (-) or imply (+) this one?
bool follows(const Instance& in, const std::vector<int>& asserted, int literal) {
  const Difference& d = in.atoms[static_cast<std::size_t>(std::abs(literal) - 1)].difference;
  const Cycle weight = d.at(in.ii, in.deadline);
  std::vector<Arc> arcs = arcs_of(in, asserted);
  if (literal < 0)
    arcs.push_back({d.from, d.to, weight});
  else
    arcs.push_back({d.to, d.from, 1 - weight});  // its negation, over the integers
  return !longest(in.nodes, arcs, 0).has_value();
}

/// `cut`: with a log as short as can be, and many changes. Explanations are asked for at once, and
/// again later, when the log has them no more.
void assert_and_undo(bool sums, bool cut = false) {
  int conflicts = 0, excluded = 0, implied = 0, cuts = 0, repeats = 0;
  for (std::uint64_t seed = 0; seed < (cut ? 80 : 3000); ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Instance in = random_instance(random, sums, cut);
    std::vector<signed char> values(in.atoms.size() + 2, 0);
    DifferenceTheory theory(in.nodes, values, nullptr, cut ? 1 : 0);
    // The same without a cut: what is decided, in which order and by which records, is the same.
    DifferenceTheory whole(in.nodes, values);
    if (cut) {
      for (const Difference& f : in.facts) whole.add_fact(f);
      for (const DifferenceAtom& a : in.atoms) whole.add_atom(a);
      for (const DifferenceSum& s : in.sums) whole.add_sum(s);
    }
    for (const Difference& f : in.facts) theory.add_fact(f);
    for (const DifferenceAtom& a : in.atoms) theory.add_atom(a);
    for (const DifferenceSum& s : in.sums) theory.add_sum(s);
    std::vector<int> at_root;
    const bool possible = longest(in.nodes, arcs_of(in, {}), 0).has_value();
    REQUIRE(theory.reset(in.ii, in.deadline, at_root) == possible);
    if (!possible) continue;
    if (cut) {
      std::vector<int> same;
      REQUIRE(whole.reset(in.ii, in.deadline, same));
      CHECK(same == at_root);
    }
    for (const int literal : at_root) {
      CHECK(follows(in, {}, literal));
      values[static_cast<std::size_t>(std::abs(literal))] = literal > 0 ? 1 : -1;
    }
    std::vector<int> asserted;
    struct Level {
      DifferenceTheory::Mark mark;
      std::size_t asserted;
      std::vector<signed char> values;
      DifferenceTheory::Mark whole = {};
      std::size_t kept = 0;
    };
    std::vector<Level> levels;
    struct Kept {
      DifferenceTheory::Decided decided;
      std::size_t asserted;  // by then
    };
    std::vector<Kept> kept;  // of all levels
    const auto back = [&] {
      theory.undo(levels.back().mark);
      if (cut) whole.undo(levels.back().whole);
      kept.resize(levels.back().kept);
    };
    for (int step = 0; step < (cut ? 150 : 25); ++step) {
      if (!levels.empty() && random.percent(cut ? 4 : 30)) {
        // Far back, too.
        for (Cycle more = cut ? random.range(0, 30) : 0; more > 0 && levels.size() > 1; --more)
          levels.pop_back();
        back();
        asserted.resize(levels.back().asserted);
        values = levels.back().values;
        levels.pop_back();
      } else {
        // Sums take several terms at once.
        bool excluded_before = false, consistent = true;
        std::vector<DifferenceTheory::Decided> decided;
        levels.push_back({theory.mark(), asserted.size(), values});
        levels.back().kept = kept.size();
        if (cut) levels.back().whole = whole.mark();
        std::vector<DifferenceTheory::Decided> same;
        bool same_consistent = true;
        for (Cycle count = random.range(1, sums ? 3 : 1); count > 0 && consistent; --count) {
          const auto any = [&] {
            return static_cast<int>(random.range(1, static_cast<Cycle>(in.atoms.size()) + sums));
          };
          const auto weight = [&](int atom) {
            const auto i = static_cast<std::size_t>(atom - 1);
            return i < in.atoms.size() ? in.atoms[i].difference.at(in.ii, in.deadline) : 0;
          };
          int v = any();
          // Light ones first, so that entries grow in many steps.
          for (int other = 0; cut && other < 8; ++other)
            if (const int w = any();
                values[static_cast<std::size_t>(w)] == 0 &&
                (values[static_cast<std::size_t>(v)] != 0 || weight(w) < weight(v)))
              v = w;
          // An atom that was excluded, asserted all the same, is a conflict (the caller's
          // propagation may be behind).
          if (values[static_cast<std::size_t>(v)] > 0) continue;
          excluded_before = excluded_before || values[static_cast<std::size_t>(v)] < 0;
          values[static_cast<std::size_t>(v)] = 1;
          asserted.push_back(v);
          if (cut) same_consistent = whole.assert_atom(v, same);
          consistent = theory.assert_atom(v, decided);
        }
        while (consistent && theory.sums_pending()) {
          if (cut) same_consistent = whole.assert_sums(same);
          consistent = theory.assert_sums(decided);
        }
        if (cut) {
          REQUIRE(same_consistent == consistent);
          REQUIRE(same.size() == decided.size());
          for (std::size_t i = 0; i < same.size(); ++i) {
            CHECK(same[i].literal == decided[i].literal);
            CHECK(same[i].record == decided[i].record);
          }
        }
        if (!consistent) {
          ++conflicts;
          // Sums are not looked ahead: what a variable adds to them shows when it is asserted.
          if (!sums) CHECK(excluded_before);
          CHECK_FALSE(longest(in.nodes, arcs_of(in, asserted), 0).has_value());
          const std::vector<int> clash(theory.conflict().begin(), theory.conflict().end());
          CHECK_FALSE(longest(in.nodes, arcs_of(in, clash), 0).has_value());
          back();
          asserted.resize(levels.back().asserted);
          values = levels.back().values;
          levels.pop_back();
          continue;
        }
        REQUIRE_FALSE(excluded_before);
        for (const DifferenceTheory::Decided& d : decided) {
          std::vector<int> reason;
          theory.explain(d.record, reason);
          CHECK(follows(in, reason, d.literal));
          for (const int r : reason)
            CHECK(std::find(asserted.begin(), asserted.end(), r) != asserted.end());
          values[static_cast<std::size_t>(std::abs(d.literal))] = d.literal > 0 ? 1 : -1;
          ++(d.literal < 0 ? excluded : implied);
          kept.push_back({d, asserted.size()});
        }
        for (int old = 0; cut && old < 3 && !kept.empty(); ++old) {
          const auto& [d, by_then] =
              kept[static_cast<std::size_t>(random.range(0, static_cast<Cycle>(kept.size()) - 1))];
          std::vector<int> reason;
          theory.explain(d.record, reason);
          CHECK(follows(in, reason, d.literal));
          const auto end = asserted.begin() + static_cast<std::ptrdiff_t>(by_then);
          for (const int r : reason) CHECK(std::find(asserted.begin(), end, r) != end);
        }
      }
      const auto exact = longest(in.nodes, arcs_of(in, asserted), 0);
      REQUIRE(exact.has_value());
      for (int node = 1; node < in.nodes; ++node)
        REQUIRE(theory.least(0, node) == (*exact)[static_cast<std::size_t>(node)]);
      for (int a = 0; cut && a < in.nodes; ++a)
        for (int b = 0; b < in.nodes; ++b) REQUIRE(theory.least(a, b) == whole.least(a, b));
      // Nothing that should have been decided is open.
      for (const DifferenceAtom& atom : in.atoms) {
        if (values[static_cast<std::size_t>(atom.variable)] != 0) continue;
        if (cut && (atom.variable + step) % 20 != 0) continue;  // there are many
        CHECK_FALSE(follows(in, asserted, -atom.variable));
        if (atom.difference.turns == 0 && atom.difference.deadlines == 0)
          CHECK_FALSE(follows(in, asserted, atom.variable));
      }
    }
    cuts += theory.cuts();
    repeats += theory.repeats();
    CHECK(whole.cuts() == 0);
  }
  CHECK(conflicts > (cut ? 100 : 300));
  CHECK(excluded > (cut ? 800 : 2000));
  CHECK(implied > 300);
  CHECK((cuts > 80) == cut);
  CHECK((repeats > 15) == cut);
}

}  // namespace

TEST_CASE("asserting and undoing random atoms") {
  assert_and_undo(false);
}

TEST_CASE("asserting and undoing random atoms and sums") {
  assert_and_undo(true);
}

TEST_CASE("a log that is too short to go back and to explain") {
  assert_and_undo(false, true);
  assert_and_undo(true, true);
}

TEST_CASE("facts that contradict each other") {
  const std::vector<signed char> values{0};
  DifferenceTheory theory(2, values);
  theory.add_fact({0, 1, 5, 0});
  theory.add_fact({1, 0, 1, -1});
  std::vector<int> decided;
  CHECK_FALSE(theory.reset(5, 0, decided));  // row >= 5 and row <= 4
  CHECK(theory.reset(6, 0, decided));
  CHECK(theory.least(0, 1) == 5);
}

TEST_CASE("atoms that fold, over a range of I") {
  MemoryCnf cnf;
  Formula f(cnf);
  Differences rows(f, 2, 4, 9);
  CHECK(rows.atom({1, 2, 0, 1}).is_false());  // rows differ by less than I
  CHECK(rows.atom({1, 2, 1, -1}).is_true());
  CHECK(rows.atom({1, 2, 2, -1}) != kTrueLit);
  CHECK(rows.atom({0, 1, 0, 0}).is_true());
  CHECK(rows.atom({1, 0, 1, 0}).is_false());  // no row is below 0
  CHECK(rows.atom({1, 1, 3, -1}).is_true());
  CHECK(rows.atom({1, 1, 1, 0}).is_false());
  const Lit literal = rows.atom({1, 2, 3, 0});
  CHECK(rows.atom({1, 2, 3, 0}) == literal);
  CHECK(rows.atom({2, 1, 3, 0}) != literal);
  CHECK(rows.atoms().size() == 3);
}

TEST_CASE("changes take 20 bytes each, and more than the limit has is not taken") {
  if (test::kSanitized) return;  // what is freed is kept for a while there
  // One constraint in the middle of a chain of facts that grows again and again: 62,500 pairs each
  // time.
  constexpr int kNodes = 500, kMiddle = 250, kFits = 50, kMore = 500;
  constexpr std::int64_t kRoom = 110 << 20;
  const std::vector<signed char> values(kMore + 1, 0);
  Budget budget({}, 0, 0, resident_memory() + kRoom);
  DifferenceTheory theory(kNodes, values, &budget);
  for (int v = 0; v + 1 < kNodes; ++v)
    if (v + 1 != kMiddle) theory.add_fact({v, v + 1, 1, 0});
  for (int variable = 1; variable <= kMore; ++variable)
    theory.add_atom({{kMiddle - 1, kMiddle, variable, 0}, variable});
  std::vector<int> known;
  REQUIRE(theory.reset(1000, 0, known));
  std::vector<DifferenceTheory::Decided> decided;
  const DifferenceTheory::Mark root = theory.mark();
  int variable = 1;
  for (; variable <= kFits; ++variable) REQUIRE(theory.assert_atom(variable, decided));
  CHECK(theory.least(0, kNodes - 1) == kNodes - 2 + kFits);
  const auto all = [&] {
    for (; variable <= kMore; ++variable) theory.assert_atom(variable, decided);
  };
  CHECK_THROWS_AS(all(), Budget::Spent);
  CHECK(variable < kMore);
  CHECK(budget.reason() == Stop::memory_limit);
  theory.undo(root);
  CHECK(theory.least(0, kMiddle - 1) == kMiddle - 1);
  CHECK(theory.least(0, kNodes - 1) < 0);
}

TEST_CASE("however much is asserted, the way back takes no more than the nodes allow") {
  if (test::kSanitized) return;
  // The same chain: 2,500 changes each time, four times what the log holds.
  constexpr int kNodes = 100, kMiddle = 50, kAtoms = 4'000;
  const auto most = static_cast<std::int64_t>(DifferenceTheory::most_bytes(kNodes));
  CHECK(most < std::int64_t{kAtoms} * 2'500 * 20 / 2);
  std::vector<signed char> values(kAtoms + 1, 0);
  Budget budget({}, 0, 0, resident_memory() + most + (8 << 20));
  DifferenceTheory theory(kNodes, values, &budget);
  for (int v = 0; v + 1 < kNodes; ++v)
    if (v + 1 != kMiddle) theory.add_fact({v, v + 1, 1, 0});
  for (int variable = 1; variable <= kAtoms; ++variable)
    theory.add_atom({{kMiddle - 1, kMiddle, variable, 0}, variable});
  std::vector<int> known;
  REQUIRE(theory.reset(100'000, 0, known));
  std::vector<DifferenceTheory::Decided> decided;
  std::vector<DifferenceTheory::Mark> marks;
  for (int variable = 1; variable <= kAtoms; ++variable) {
    marks.push_back(theory.mark());
    values[static_cast<std::size_t>(variable)] = 1;
    REQUIRE(theory.assert_atom(variable, decided));
  }
  CHECK(theory.cuts() > 3);
  for (const int left : {3'999, 3'000, 1'234, 100, 1, 0}) {
    theory.undo(marks[static_cast<std::size_t>(left)]);
    CHECK(theory.least(0, kNodes - 1) ==
          (left == 0 ? theory.least(0, kMiddle) : kNodes - 2 + left));
    CHECK(theory.least(0, kMiddle - 1) == kMiddle - 1);
  }
  CHECK(theory.repeats() > 2);
  CHECK(budget.reason() == Stop::unsaid);
}

}  // namespace difference_theory_test
