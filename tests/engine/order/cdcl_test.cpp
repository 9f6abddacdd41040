// The searchers of the order engine against enumeration: random clauses over free variables and
// difference atoms, at falling I; their lemmas against the rows they speak of. CaDiCaL's
// where it has propagators.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <stop_token>
#include <vector>

#include "engine/budget.hpp"
#include "engine/cadical.hpp"
#include "engine/order/cdcl.hpp"
#include "tests/support/random_loop.hpp"

namespace cdcl_test {

using namespace twill;
using namespace twill::test;

namespace {

struct Question {
  int ops = 0, free = 0;
  std::vector<std::vector<int>> clauses;  // DIMACS
};

/// Builds the atoms and clauses: atoms only in positive polarity.
Question random_question(Random& random, Formula& f, Differences& rows, int ops) {
  Question q;
  q.ops = ops;
  std::vector<int> literals;
  q.free = static_cast<int>(random.range(1, 4));
  for (int i = 0; i < q.free; ++i) {
    const int v = f.fresh().dimacs();
    literals.push_back(v);
    literals.push_back(-v);
  }
  for (int i = 0; i < 10; ++i) {
    const int from = static_cast<int>(random.range(1, ops));
    const int to = static_cast<int>(random.range(1, ops));
    const Lit atom = rows.atom({from, to, random.range(0, 5), random.range(-1, 0)});
    if (!atom.is_constant()) literals.push_back(atom.dimacs());
  }
  const int clauses = static_cast<int>(random.range(2, 12));
  for (int c = 0; c < clauses; ++c) {
    std::vector<int> clause;
    const int size = static_cast<int>(random.range(1, 3));
    for (int i = 0; i < size; ++i)
      clause.push_back(literals[static_cast<std::size_t>(
          random.range(0, static_cast<Cycle>(literals.size()) - 1))]);
    q.clauses.push_back(clause);
  }
  return q;
}

/// Is there a choice of rows in [0, I) and of free variables? Atoms are true exactly when their
/// difference holds.
bool satisfiable(const Question& q, const Differences& rows, Cycle ii,
                 const std::vector<int>& assumed) {
  std::vector<Cycle> row(static_cast<std::size_t>(q.ops) + 1, 0);
  for (;;) {
    std::vector<char> holds(64, 0);
    for (const DifferenceAtom& a : rows.atoms())
      holds[static_cast<std::size_t>(a.variable)] =
          row[static_cast<std::size_t>(a.difference.to)] -
              row[static_cast<std::size_t>(a.difference.from)] >=
          a.difference.at(ii, 0);
    for (int bits = 0; bits < (1 << q.free); ++bits) {
      for (int i = 0; i < q.free; ++i)
        holds[static_cast<std::size_t>(i) + 1] = static_cast<char>((bits >> i) & 1);
      const auto truth = [&](int l) {
        const int variable = l < 0 ? -l : l;
        return (holds[static_cast<std::size_t>(variable)] != 0) == (l > 0);
      };
      bool all = true;
      for (const auto& clause : q.clauses) {
        bool one = false;
        for (const int l : clause) one = one || truth(l);
        all = all && one;
      }
      for (const int l : assumed) all = all && truth(l);
      if (all) return true;
    }
    std::size_t v = 1;
    for (; v < row.size(); ++v) {
      if (++row[v] < ii) break;
      row[v] = 0;
    }
    if (v == row.size()) return false;
  }
}

/// Of a question that has models: those of some literals are found, and where there are none, that
/// is not said of the others.
void check_assumptions(Random& random, OrderSearcher& solver, const Question& q,
                       const Differences& rows, Cycle ii) {
  std::vector<int> assumed;
  for (int v = 1; v <= q.free; ++v)
    if (random.percent(30)) assumed.push_back(random.percent(50) ? v : -v);
  for (const DifferenceAtom& a : rows.atoms())
    if (random.percent(20)) assumed.push_back(a.variable);
  for (const int l : assumed) solver.assume(l);
  const bool truth = satisfiable(q, rows, ii, assumed);
  REQUIRE((solver.solve() == Verdict::sat) == truth);
  for (const int l : assumed)
    if (truth) CHECK(solver.value(l > 0 ? Lit::of(l) : ~Lit::of(-l)));
}

/// After an answer unsat: CaDiCaL's refutation of needed() and the lemmas. How many are needed.
std::size_t refuted_by_needed(OrderSearcher& solver, Budget& budget) {
  SatSolver judge(budget, 0);
  for (int v = 0; v < solver.clauses().variables(); ++v) judge.new_variable();
  const std::vector<char> needed = solver.needed();
  REQUIRE(needed.size() == solver.clauses().clauses());
  std::size_t count = 0;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] == 0) continue;
    judge.add_clause(solver.clauses().clause(i));
    ++count;
  }
  for (std::size_t i = 0; i < solver.lemmas().clauses(); ++i)
    judge.add_clause(solver.lemmas().clause(i));
  REQUIRE(judge.solve() == Verdict::unsat);
  return count;
}

void check_against_enumeration(bool cadical) {
  int sat = 0, unsat = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Budget budget({}, 0, 0, 0);
    const auto searcher =
        cadical ? cadical_searcher(budget, seed % 3) : std::make_unique<Cdcl>(budget, seed % 3);
    OrderSearcher& solver = *searcher;
    Formula f(solver);
    Differences rows(f, 3, 2, 6);
    const Question q = random_question(random, f, rows, 3);
    for (const auto& clause : q.clauses) solver.add_clause(clause);
    for (Cycle ii = 6; ii >= 2; --ii) {
      CAPTURE(ii);
      solver.set_parameters(ii, 0);
      solver.take(rows);
      const bool truth = satisfiable(q, rows, ii, {});
      const Verdict answer = solver.solve();
      REQUIRE((answer == Verdict::sat) == truth);
      ++(truth ? sat : unsat);
      if (answer == Verdict::sat) {
        check_assumptions(random, solver, q, rows, ii);
        REQUIRE(solver.solve() == Verdict::sat);
        for (const auto& clause : q.clauses) {
          bool one = false;
          for (const int l : clause) one = one || solver.value(Lit::of(l));
          CHECK(one);
        }
        // Asserted atoms hold for the rows of the model.
        for (const DifferenceAtom& a : rows.atoms())
          if (solver.value(Lit::of(a.variable)))
            CHECK(solver.least(0, a.difference.to) - solver.least(0, a.difference.from) >=
                  a.difference.at(ii, 0));
        continue;
      }
      // CaDiCaL comes to the same conclusion from the clauses that were needed and the lemmas.
      REQUIRE(refuted_by_needed(solver, budget) <= solver.clauses().clauses());
      CHECK(solver.is_replayed() == !cadical);
      break;  // and so at every smaller I
    }
    // Every lemma is true of all rows, at the I where the search ended and below.
    for (std::size_t i = 0; i < solver.lemmas().clauses(); ++i) {
      Question lemma = q;
      lemma.clauses.clear();
      std::vector<int> negated;
      for (const int l : solver.lemmas().clause(i)) negated.push_back(-l);
      CHECK_FALSE(satisfiable(lemma, rows, 2, negated));
    }
  }
  CHECK(sat > 1000);
  CHECK(unsat > 200);
}

}  // namespace

TEST_CASE("the same verdict as enumeration, at falling I") {
  check_against_enumeration(false);
}

TEST_CASE("the same with CaDiCaL searching" * doctest::skip(!has_cadical_searcher())) {
  check_against_enumeration(true);
}

// Reasons are lost at the root only, where nobody asks for them.
TEST_CASE("lemmas that are forgotten change nothing of the search") {
  std::size_t kept = 0, left = 0;
  std::int64_t conflicts = 0;
  int sat = 0, unsat = 0, unknown = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    constexpr int kOps = 8;
    Budget budget({}, 0, 0, 0);
    Cdcl keeps(budget, seed % 3), forgets(budget, seed % 3);
    forgets.forget_lemmas(0);
    Cycle sum = 0;
    const auto ask = [&](Cdcl& solver, Random random) {
      Formula f(solver);
      Differences rows(f, kOps, 2, 200);
      std::vector<Cycle> cycles(kOps + 1);
      for (Cycle& c : cycles) c = random.range(3, 5);
      sum = 0;
      for (int v = 1; v <= kOps; ++v) sum += cycles[static_cast<std::size_t>(v)];
      for (int u = 1; u <= kOps; ++u)
        for (int v = 1; v < u; ++v)
          f.clause({rows.atom({u, v, cycles[static_cast<std::size_t>(u)], 0}),
                    rows.atom({v, u, cycles[static_cast<std::size_t>(v)], 0})});
      f.unit(rows.atom({1, 2, cycles[1], 0}));  // what follows at the root has lemmas, too
      std::vector<std::pair<Verdict, std::int64_t>> answers;
      for (Cycle ii = sum; ii >= sum - 7; --ii) {
        solver.set_parameters(ii, 0);
        solver.take(rows);
        for (int k = 0; k < 2; ++k) {
          if (k == 0)
            for (const DifferenceAtom& a : rows.atoms())
              if (random.percent(10)) solver.assume(a.variable);
          answers.emplace_back(solver.solve(400), solver.conflicts());
        }
        if (answers.back().first == Verdict::unsat) break;
      }
      return answers;
    };
    const auto answers = ask(keeps, Random(seed));
    CHECK(ask(forgets, Random(seed)) == answers);
    kept += keeps.lemmas().clauses();
    left += forgets.lemmas().clauses();
    conflicts += answers.back().second;
    for (const auto& [verdict, so_far] : answers)
      ++(verdict == Verdict::sat ? sat : verdict == Verdict::unsat ? unsat : unknown);
  }
  CHECK(left < kept / 4);
  CHECK(kept > 1000);
  CHECK(conflicts > 1000);
  CHECK(sat > 40);
  CHECK(unsat + unknown > 40);
}

// Ops one after the other, and a period in which the last can just begin or is a cycle too late.
TEST_CASE("what is learned keeps to its room, and what is refuted is replayed without the rest") {
  constexpr std::int64_t kRoom = 1 << 20;
  constexpr std::int64_t kMostLearned = kRoom / 4 / Cdcl::kLearnedLiteral;
  constexpr std::size_t kMostLemmas = kRoom / 4 / Cdcl::kLemmaLiteral;
  std::int64_t most_learned = 0, most_within = 0;
  std::size_t most_lemmas = 0, most_lemmas_within = 0;
  int sat = 0, unsat = 0, forgotten = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    constexpr int kOps = 8;
    const bool short_of_one = seed % 3 != 0;
    Budget budget({}, 0, 0, 0);
    const auto ask = [&](Cdcl& solver, bool within) {
      Random random(seed);
      Formula f(solver);
      Differences rows(f, kOps, 2, 200);
      std::vector<Cycle> cycles(kOps + 1);
      for (Cycle& c : cycles) c = random.range(3, 5);
      Cycle sum = 0;
      for (int v = 1; v <= kOps; ++v) sum += cycles[static_cast<std::size_t>(v)];
      for (int u = 1; u <= kOps; ++u)
        for (int v = 1; v < u; ++v)
          f.clause({rows.atom({u, v, cycles[static_cast<std::size_t>(u)], 0}),
                    rows.atom({v, u, cycles[static_cast<std::size_t>(v)], 0})});
      const Cycle least = sum - *std::max_element(cycles.begin() + 1, cycles.end()) + 1;
      solver.set_parameters(least - (short_of_one ? 1 : 0), 0);
      solver.take(rows);
      Verdict verdict = Verdict::unknown;
      while (verdict == Verdict::unknown && solver.conflicts() < 100'000) {
        verdict = solver.solve(1);
        (within ? most_within : most_learned) =
            std::max(within ? most_within : most_learned, solver.learned_literals());
        if (within) most_lemmas_within = std::max(most_lemmas_within, solver.lemma_literals());
      }
      return verdict;
    };
    Cdcl all(budget, seed), within(budget, seed);
    CHECK(within.learn_within(kRoom));
    const Verdict expected = short_of_one ? Verdict::unsat : Verdict::sat;
    CHECK(ask(all, false) == expected);
    CHECK(ask(within, true) == expected);
    most_lemmas = std::max(most_lemmas, all.lemma_literals());
    CHECK_FALSE(all.has_forgotten());
    forgotten += within.has_forgotten() ? 1 : 0;
    if (short_of_one) CHECK(within.is_replayed());
    ++(short_of_one ? unsat : sat);
  }
  // (The last conflict's clause comes to that, and its lemmas.)
  CHECK(most_within <= kMostLearned + 100);
  CHECK(most_lemmas_within <= kMostLemmas + 2'000);
  CHECK(most_learned > 2 * kMostLearned);
  CHECK(most_lemmas > 2 * kMostLemmas);
  CHECK(forgotten >= unsat / 2);
  CHECK(sat > 0);
}

TEST_CASE("hard clauses: pigeons, with learning, restarts and clause deletion") {
  Budget budget({}, 0, 0, 0);
  Cdcl solver(budget, 0);
  Formula f(solver);
  Differences rows(f, 1, 2, 2);
  std::vector<Lit> others;  // that have nothing to do with it
  for (int i = 0; i < 50; ++i) others.push_back(f.fresh());
  for (std::size_t i = 0; i + 2 < others.size(); ++i) {
    f.clause({others[i], others[i + 1], others[i + 2]});
    f.clause({~others[i], others[i + 2]});
  }
  const std::size_t unneeded = solver.clauses().clauses();
  constexpr int kHoles = 8;
  std::vector<std::vector<Lit>> in;
  for (int p = 0; p <= kHoles; ++p) {
    in.emplace_back();
    for (int h = 0; h < kHoles; ++h) in.back().push_back(f.fresh());
    f.clause(in.back());
  }
  for (int h = 0; h < kHoles; ++h)
    for (int p = 0; p <= kHoles; ++p)
      for (int q = 0; q < p; ++q)
        f.clause({~in[static_cast<std::size_t>(p)][static_cast<std::size_t>(h)],
                  ~in[static_cast<std::size_t>(q)][static_cast<std::size_t>(h)]});
  solver.take(rows);
  solver.set_parameters(2, 0);
  CHECK(solver.solve(100) == Verdict::unknown);
  CHECK(solver.solve() == Verdict::unsat);
  CHECK(solver.conflicts() > 4000);
  CHECK(solver.is_replayed());
  CHECK(refuted_by_needed(solver, budget) == solver.clauses().clauses() - unneeded);
}

TEST_CASE("hard clauses by chance: the verdict of CaDiCaL") {
  constexpr int kVariables = 180;
  int sat = 0, unsat = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Budget budget({}, 0, 0, 0);
    Cdcl solver(budget, seed % 3);
    SatSolver judge(budget, 0);
    Formula f(solver);
    Differences rows(f, 1, 2, 2);
    for (int v = 0; v < kVariables; ++v) {
      f.fresh();
      judge.new_variable();
    }
    for (int c = 0; c < kVariables * 426 / 100; ++c) {
      std::vector<Lit> clause;
      std::vector<int> numbers;
      for (int i = 0; i < 3; ++i) {
        const int v = pick(random, 1, kVariables);
        numbers.push_back(random.percent(50) ? v : -v);
        clause.push_back(numbers.back() > 0 ? Lit::of(v) : ~Lit::of(v));
      }
      f.clause(clause);
      judge.add_clause(numbers);
    }
    solver.take(rows);
    solver.set_parameters(2, 0);
    const Verdict verdict = solver.solve();
    REQUIRE(verdict == judge.solve());
    if (verdict == Verdict::unsat) {
      refuted_by_needed(solver, budget);
      CHECK(solver.is_replayed());
    } else {
      for (std::size_t i = 0; i < solver.clauses().clauses(); ++i) {
        const auto clause = solver.clauses().clause(i);
        REQUIRE(std::any_of(clause.begin(), clause.end(), [&](int l) {
          return solver.value(Lit::of(l < 0 ? -l : l)) == (l > 0);
        }));
      }
    }
    if (solver.conflicts() > 3'000) (verdict == Verdict::sat ? sat : unsat) += 1;
  }
  CHECK(sat > 0);
  CHECK(unsat > 2);
}

TEST_CASE("an empty clause is needed") {
  Budget budget({}, 0, 0, 0);
  Cdcl solver(budget, 0);
  Formula f(solver);
  Differences rows(f, 1, 2, 2);
  f.clause({f.fresh(), f.fresh(), f.fresh()});
  f.clause({});
  solver.take(rows);
  solver.set_parameters(2, 0);
  CHECK(solver.solve() == Verdict::unsat);
  CHECK(refuted_by_needed(solver, budget) == 1);
  CHECK(solver.is_replayed());
}

}  // namespace cdcl_test
