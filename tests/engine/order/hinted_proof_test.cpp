// Replayed derivations: what is right is accepted, and nothing that is wrong, whatever the hints.
#include "engine/order/hinted_proof.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random_loop.hpp"

namespace hinted_proof_test {

using namespace twill;
using namespace twill::test;

namespace {

MemoryCnf cnf_of(int variables, const std::vector<std::vector<int>>& clauses) {
  MemoryCnf cnf;
  for (int v = 0; v < variables; ++v) cnf.new_variable();
  for (const auto& clause : clauses) cnf.add_clause(clause);
  return cnf;
}

bool has_model(int variables, const MemoryCnf& a, const MemoryCnf& b) {
  const auto satisfied = [](const MemoryCnf& cnf, unsigned values) {
    for (std::size_t i = 0; i < cnf.clauses(); ++i) {
      const auto clause = cnf.clause(i);
      if (std::none_of(clause.begin(), clause.end(),
                       [&](int l) { return ((values >> (std::abs(l) - 1) & 1U) != 0) == (l > 0); }))
        return false;
    }
    return true;
  };
  for (unsigned values = 0; values < 1U << variables; ++values)
    if (satisfied(a, values) && satisfied(b, values)) return true;
  return false;
}

}  // namespace

TEST_CASE("a derivation by hand: clauses, a lemma, pairs, steps") {
  const MemoryCnf clauses = cnf_of(4, {{1, 2}, {1, -2, 3}, {-1, 4}, {-1, -4, 3}, {-3, 4, 1}});
  const MemoryCnf lemmas = cnf_of(0, {{-3, -4}, {-3, 1, -2}});
  const auto run = [&](bool lemma, bool drop, int pair) {
    HintedProof proof(clauses, lemmas);
    proof.by_pair(1, 2);
    proof.by_clause(1);
    const int step = proof.derive(std::vector{1, 3});  // -1: 2, 3
    CHECK(step == 0);
    proof.by_pair(-1, pair);
    proof.by_clause(3);
    proof.derive(std::vector{3, -1});  // 1: 4, 3
    if (drop) proof.drop(step);
    proof.by_pair(1, 3);
    proof.by_pair(-1, 3);
    proof.derive(std::vector{3});
    CHECK_FALSE(proof.refuted());
    if (lemma) proof.by_lemma(0);
    proof.by_clause(4);
    proof.by_pair(-1, 4);
    proof.derive({});
    return proof.refuted();
  };
  CHECK(run(true, false, 4));
  CHECK(run(true, true, 4));  // what is a pair stays
  CHECK_FALSE(run(false, false, 4));
  CHECK_FALSE(run(true, false, 3));  // no such clause
}

TEST_CASE("a step of three literals is a reason until it is dropped") {
  const MemoryCnf clauses = cnf_of(4, {{1, 2, 4}, {1, 3, -4}, {-1}, {-2}, {-3}});
  for (const bool drop : {false, true}) {
    HintedProof proof(clauses, clauses);
    for (std::size_t unit = 2; unit <= 4; ++unit) {
      proof.by_clause(unit);
      proof.derive(clauses.clause(unit));
    }
    proof.by_clause(0);
    proof.by_clause(1);
    const int step = proof.derive(std::vector{1, 2, 3});
    if (drop) proof.drop(step);
    proof.by_step(step);
    proof.derive({});
    CHECK(proof.refuted() == !drop);
  }
}

TEST_CASE("what is left of a clause is looked at") {
  const MemoryCnf clauses = cnf_of(3, {{1, 2, 3}, {-1}, {-2}, {-3}});
  for (const bool known : {false, true}) {
    HintedProof proof(clauses, clauses);
    if (known) {
      proof.by_clause(1);
      proof.derive(std::vector{-1});
    }
    proof.shortened(0, 2, 3);
    for (std::size_t unit = 2; unit <= 3; ++unit) proof.by_clause(unit);
    proof.by_pair(3, 2);
    proof.derive({});
    CHECK(proof.refuted() == known);
  }
}

// Random hints and random steps: whenever the empty clause is accepted there is no model.
TEST_CASE("no derivation of what has a model is accepted") {
  int accepted = 0, refutable = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const int variables = static_cast<int>(random.range(2, 4));
    const auto literal = [&] {
      const int v = static_cast<int>(random.range(1, variables));
      return random.percent(50) ? v : -v;
    };
    const auto random_clause = [&](Cycle least) {
      std::vector<int> clause;
      for (Cycle i = random.range(least, 3); i > 0; --i) clause.push_back(literal());
      return clause;
    };
    std::vector<std::vector<int>> some, others;
    for (Cycle i = random.range(3, 12); i > 0; --i) some.push_back(random_clause(1));
    for (Cycle i = random.range(1, 4); i > 0; --i) others.push_back(random_clause(1));
    const MemoryCnf clauses = cnf_of(variables, some), lemmas = cnf_of(0, others);
    const bool open = has_model(variables, clauses, lemmas);
    HintedProof proof(clauses, lemmas);
    const int last = static_cast<int>(random.range(1, 8));
    for (int step = 0; step <= last; ++step) {
      for (int hints = static_cast<int>(random.range(1, 12)); hints > 0; --hints) {
        const Cycle kind = random.range(0, 9);
        if (kind < 5)
          proof.by_clause(static_cast<std::size_t>(random.range(0, std::ssize(some) - 1)));
        else if (kind < 7)
          proof.by_lemma(static_cast<std::size_t>(random.range(0, std::ssize(others) - 1)));
        else if (kind < 8)
          proof.by_pair(literal(), literal());
        else
          proof.by_step(static_cast<int>(random.range(0, step + 1)));
      }
      if (step > 0 && random.percent(10)) proof.drop(static_cast<int>(random.range(0, step - 1)));
      if (random.percent(5))
        proof.shortened(static_cast<std::size_t>(random.range(0, std::ssize(some) - 1)), literal(),
                        literal());
      std::vector<int> clause;
      if (step < last && random.percent(80)) {  // one that follows, so that not all is lost at once
        const auto like = static_cast<std::size_t>(random.range(0, std::ssize(some) - 1));
        proof.by_clause(like);
        clause = some[like];
        if (random.percent(50)) clause.push_back(literal());
        if (random.percent(10)) clause.erase(clause.begin());
      } else if (step < last) {
        clause = random_clause(1);
      }
      proof.derive(clause);
      if (random.percent(20) && proof.refuted()) CHECK_FALSE(open);
    }
    if (!open) ++refutable;
    if (!proof.refuted()) continue;
    ++accepted;
    CHECK_FALSE(open);
  }
  CHECK(refutable > 2'000);
  CHECK(accepted > 200);
}

}  // namespace hinted_proof_test
