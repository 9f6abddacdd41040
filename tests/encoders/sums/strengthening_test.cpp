// Bounds that are chosen after encoding: by assumption, by clauses, or not at all, as the table
// says; against arithmetic, and with CaDiCaL as a caller would use them.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "encoders/choose.hpp"
#include "encoders/sinks.hpp"
#include "engine/cadical.hpp"
#include "tests/support/encoding_sizes.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/unit_propagation.hpp"

namespace strengthening_test {

using namespace twill;
using namespace twill::test;

namespace {

constexpr std::size_t kInputs = 5;

struct Sum {
  std::vector<Term> terms;
  std::int64_t value(std::size_t assignment) const {
    std::int64_t sum = 0;
    for (const Term& t : terms) {
      if (t.literal.is_constant()) {
        sum += t.literal.is_true() ? t.weight : 0;
        continue;
      }
      const int code = t.literal.dimacs();
      const bool truth = assignment >> (std::abs(code) - 1) & 1;
      if (truth == (code > 0)) sum += t.weight;
    }
    return sum;
  }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const Term& t : terms) sum += t.weight;
    return sum;
  }
};

/// Over inputs 1 .. 5; `plain`: each once, positive.
Sum random_sum(Random& random, bool equal_weights, bool plain) {
  Sum sum;
  const std::int64_t unit = random.percent(30) ? 3 : 1;
  for (int x = 1; x <= static_cast<int>(kInputs); ++x) {
    Term term{unit * (equal_weights ? 1 : random.range(1, 7)), Lit::of(x)};
    if (!plain && random.percent(30)) term.literal = ~term.literal;
    if (!plain && random.percent(10)) term.literal = Lit::constant(random.percent(50));
    sum.terms.push_back(term);
    if (!plain && random.percent(15)) sum.terms.push_back({random.range(0, 4), ~term.literal});
  }
  return sum;
}

std::vector<Lit> inputs_as(std::size_t assignment) {
  std::vector<Lit> assumed;
  for (std::size_t i = 0; i < kInputs; ++i) {
    const Lit x = Lit::of(static_cast<int>(i) + 1);
    assumed.push_back(assignment >> i & 1 ? x : ~x);
  }
  return assumed;
}

/// All values of amo, card and pb, with the sums that use them.
struct Choice {
  std::string text;
  bool equal_weights;
  Strengthening claimed;
};
std::vector<Choice> choices() {
  std::vector<Choice> list = {{"", true, Strengthening::assumption},
                              {"", false, Strengthening::assumption}};
  for (const EncodingInfo& row : encoding_table())
    if (row.key == "card" || row.key == "pb")
      list.push_back({row.key + "=" + row.value, row.key == "card", row.strengthening});
  return list;
}

}  // namespace

TEST_CASE("the type that comes back is the one the table names") {
  Random random(41);
  for (const Choice& c : choices()) {
    CAPTURE(c.text);
    for (int round = 0; round < 20; ++round) {
      MemoryCnf cnf;
      Formula f(cnf);
      for (std::size_t i = 0; i < kInputs; ++i) f.fresh();
      Sum sum = random_sum(random, c.equal_weights, true);
      if (!c.equal_weights) sum.terms[0].weight = 2, sum.terms[1].weight = 1;
      const LaterBound bound =
          later_at_most_sum(f, parse_encoding(c.text), sum.terms, sum.total() - 1);
      const Strengthening seen =
          std::holds_alternative<AssumableBound>(bound)     ? Strengthening::assumption
          : std::holds_alternative<TightenableBound>(bound) ? Strengthening::clauses
                                                            : Strengthening::none;
      CHECK(to_string(seen) == to_string(c.claimed));
    }
  }
}

TEST_CASE("every bound up to the upper one: models are the arithmetic") {
  Random random(42);
  int assumed = 0, tightened = 0, fixed = 0;
  for (const Choice& c : choices())
    for (int round = 0; round < 25; ++round) {
      CAPTURE(c.text);
      CAPTURE(round);
      const Sum sum = random_sum(random, c.equal_weights, round % 2 == 0);
      const std::int64_t upper = random.range(0, sum.total() + 2);
      MemoryCnf cnf;
      Formula f(cnf);
      for (std::size_t i = 0; i < kInputs; ++i) f.fresh();
      LaterBound bound = later_at_most_sum(f, parse_encoding(c.text), sum.terms, upper);
      const auto check_all = [&](std::int64_t k, const std::vector<Lit>& more) {
        CAPTURE(k);
        for (std::size_t assignment = 0; assignment < 1U << kInputs; ++assignment) {
          std::vector<Lit> literals = inputs_as(assignment);
          literals.insert(literals.end(), more.begin(), more.end());
          REQUIRE(satisfiable(cnf, literals) == (sum.value(assignment) <= k));
        }
      };
      if (const auto* later = std::get_if<AssumableBound>(&bound)) {
        CHECK(later->upper() == upper);
        for (std::int64_t k = -1; k <= upper; ++k) check_all(k, later->at_most(k));
        check_all(upper, later->at_most(upper + 5));
        // For good, largest first, where that is allowed.
        for (std::int64_t k = upper; k >= 0 && later->monotone(); k -= 2) {
          for (const Lit l : later->at_most(k)) f.unit(l);
          check_all(k, {});
        }
        ++assumed;
      } else if (auto* later_clauses = std::get_if<TightenableBound>(&bound)) {
        check_all(upper, {});
        std::int64_t k = upper;
        while (k >= 0) {
          k -= random.range(1, 3);
          later_clauses->tighten(f, k);
          later_clauses->tighten(f, k + 1);  // changes nothing
          check_all(k, {});
        }
        ++tightened;
      } else {
        check_all(upper, {});
        ++fixed;
      }
    }
  CHECK(assumed > 200);
  CHECK(tightened > 50);
  CHECK(fixed > 50);
}

TEST_CASE("smaller bounds propagate as the encoding claims") {
  // Assumed bounds below the one encoded: as consistent as the encoding itself.
  for (const EncodingInfo& row : encoding_table()) {
    if (row.key != "card" || row.strengthening != Strengthening::assumption ||
        row.propagation != Propagation::arc_consistent)
      continue;
    CAPTURE(row.value);
    MemoryCnf cnf;
    Formula f(cnf);
    std::vector<Term> terms;
    for (std::size_t i = 0; i < kInputs; ++i) terms.push_back({1, f.fresh()});
    const LaterBound bound = later_at_most_sum(f, parse_encoding("card=" + row.value), terms, 4);
    const auto& later = std::get<AssumableBound>(bound);
    for (std::int64_t k = 1; k <= 4; ++k)
      for (std::size_t chosen = 0; chosen < 1U << kInputs; ++chosen) {
        std::vector<Lit> assumed = later.at_most(k);
        std::int64_t count = 0;
        for (std::size_t i = 0; i < kInputs; ++i)
          if (chosen >> i & 1) {
            assumed.push_back(terms[i].literal);
            ++count;
          }
        const auto closure = propagate(cnf, assumed);
        REQUIRE(closure.has_value() == (count <= k));
        for (std::size_t i = 0; i < kInputs && closure; ++i)
          if (!(chosen >> i & 1)) CHECK(closure->of(terms[i].literal) == (count == k ? -1 : 0));
      }
  }
}

TEST_CASE("one solver, falling bounds: the smallest cover of a graph") {
  // A vertex cover of random weights and edges, minimised with one incremental solver.
  Random random(43);
  for (const Choice& c : choices()) {
    if (c.claimed == Strengthening::none) continue;
    CAPTURE(c.text);
    for (int round = 0; round < 4; ++round) {
      constexpr int kVertices = 9;
      Budget budget({}, 0, 0, 0);
      SatSolver solver(budget, 0);
      Formula f(solver);
      std::vector<Term> terms;
      for (int v = 0; v < kVertices; ++v)
        terms.push_back({c.equal_weights ? 1 : random.range(1, 9), f.fresh()});
      std::vector<std::pair<std::size_t, std::size_t>> edges;
      for (std::size_t a = 0; a < kVertices; ++a)
        for (std::size_t b = a + 1; b < kVertices; ++b)
          if (random.percent(30)) edges.emplace_back(a, b);
      for (const auto& [a, b] : edges) f.clause({terms[a].literal, terms[b].literal});
      std::int64_t best = 0;
      for (const Term& t : terms) best += t.weight;
      std::int64_t expected = best;
      for (std::size_t set = 0; set < std::size_t{1} << kVertices; ++set) {
        std::int64_t weight = 0;
        for (std::size_t v = 0; v < kVertices; ++v)
          if (set >> v & 1) weight += terms[v].weight;
        if (std::all_of(edges.begin(), edges.end(),
                        [&](const auto& e) { return set >> e.first & 1 || set >> e.second & 1; }))
          expected = std::min(expected, weight);
      }
      LaterBound bound = later_at_most_sum(f, parse_encoding(c.text), terms, best);
      for (;;) {
        std::vector<Lit> assumptions;
        if (auto* later = std::get_if<TightenableBound>(&bound))
          later->tighten(f, best - 1);
        else
          assumptions = std::get<AssumableBound>(bound).at_most(best - 1);
        if (solver.solve(assumptions) != Verdict::sat) break;
        std::int64_t weight = 0;
        for (const Term& t : terms)
          if (solver.value(t.literal)) weight += t.weight;
        REQUIRE(weight < best);
        best = weight;
      }
      CHECK(best == expected);
    }
  }
}

}  // namespace strengthening_test
