// At-most-one, cardinality and pseudo-Boolean encodings: for every n and every partial assignment
// of the inputs, what the head of each file claims about models, propagation and size.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "encoders/at_most_one.hpp"
#include "encoders/cardinality.hpp"
#include "encoders/choose.hpp"
#include "encoders/pseudo_boolean.hpp"
#include "encoders/sinks.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/unit_propagation.hpp"

using namespace twill;
using namespace twill::test;

namespace {

using Emit = std::function<void(Formula&, const std::vector<Lit>&)>;

struct Size {
  std::int64_t variables = 0;  ///< auxiliary
  std::int64_t clauses = 0;
  bool operator==(const Size&) const = default;
};

/// Emits a constraint over weights.size() fresh inputs and checks, for all 3^n partial assignments
/// of them, that it says sum of weight x input <= bound:
///  sound and complete: a total assignment extends to a model if and only if its sum is within
///  bound; consistent: propagation finds the conflict as soon as the true inputs exceed the bound;
///  arc consistent: it falsifies every input that would exceed the bound, and no other input
///  changes.
Size check_sum(const std::vector<std::int64_t>& weights, std::int64_t bound, const Emit& emit) {
  MemoryCnf cnf;
  Formula f(cnf);
  std::vector<Lit> inputs;
  for (std::size_t i = 0; i < weights.size(); ++i) inputs.push_back(f.fresh());
  emit(f, inputs);
  const std::size_t n = weights.size();
  bool models = true, consistent = true, arc_consistent = true, exact = true;
  std::vector<int> state(n, -1);  // -1 false, 0 open, 1 true
  for (;;) {
    std::int64_t sum = 0;
    std::vector<Lit> assumed;
    for (std::size_t i = 0; i < n; ++i) {
      if (state[i] == 1) sum += weights[i];
      if (state[i] != 0) assumed.push_back(state[i] == 1 ? inputs[i] : ~inputs[i]);
    }
    const auto closure = propagate(cnf, assumed);
    consistent = consistent && closure.has_value() == (sum <= bound);
    if (closure)
      for (std::size_t i = 0; i < n; ++i) {
        if (state[i] != 0) continue;
        if (sum + weights[i] > bound)
          arc_consistent = arc_consistent && closure->of(inputs[i]) == -1;
        else
          exact = exact && closure->of(inputs[i]) == 0;
      }
    if (assumed.size() == n) models = models && satisfiable(cnf, assumed) == (sum <= bound);
    std::size_t i = 0;
    while (i < n && ++state[i] == 2) state[i++] = -1;
    if (i == n) break;
  }
  CHECK(models);
  CHECK(consistent);
  CHECK(arc_consistent);
  CHECK(exact);
  CHECK(f.variables() == cnf.variables());
  CHECK(f.clauses() == static_cast<std::int64_t>(cnf.clauses()));
  return {f.variables() - static_cast<std::int64_t>(n), f.clauses()};
}

std::vector<std::int64_t> ones(std::int64_t n) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(n), 1);
}

Size product_size(std::int64_t n) {
  if (n <= 4) return {0, n * (n - 1) / 2};
  std::int64_t p = 1;  // ceil(sqrt(n))
  while (p * p < n) ++p;
  const std::int64_t q = (n + p - 1) / p;
  const Size a = product_size(p), b = product_size(q);
  return {p + q + a.variables + b.variables, 2 * n + a.clauses + b.clauses};
}

/// Outputs and clauses below and at a node over n literals.
Size totalizer_size(std::int64_t n, std::int64_t k) {
  if (n == 1) return {};
  const std::int64_t left = n / 2, right = n - left;
  const Size a = totalizer_size(left, k), b = totalizer_size(right, k);
  Size size{a.variables + b.variables + std::min(n, k + 1), a.clauses + b.clauses};
  for (std::int64_t i = 0; i <= std::min(left, k + 1); ++i)
    for (std::int64_t j = 0; j <= std::min(right, k + 1); ++j)
      if (i + j >= 1 && i + j <= k + 1) ++size.clauses;
  return size;
}

/// Of the reduced ordered diagram, by truth tables: a node per level and function of the inputs
/// from that level on that depends on the level's input.
Size diagram_size(const std::vector<std::int64_t>& weights, std::int64_t bound) {
  const std::size_t n = weights.size();
  Size size{0, 1};
  for (std::size_t level = 0; level < n; ++level) {
    std::set<std::vector<bool>> functions;
    for (std::size_t prefix = 0; prefix < std::size_t{1} << level; ++prefix) {
      std::int64_t used = 0;
      for (std::size_t i = 0; i < level; ++i)
        if (prefix >> i & 1) used += weights[i];
      std::vector<bool> function;  // bit 0 of the index is this level's input
      for (std::size_t rest = 0; rest < std::size_t{1} << (n - level); ++rest) {
        std::int64_t sum = used;
        for (std::size_t i = level; i < n; ++i)
          if (rest >> (i - level) & 1) sum += weights[i];
        function.push_back(sum <= bound);
      }
      bool depends = false;
      for (std::size_t i = 0; i < function.size(); i += 2)
        depends = depends || function[i] != function[i + 1];
      if (depends) functions.insert(function);
    }
    for (const auto& function : functions) {
      ++size.variables;
      bool else_true = true;
      for (std::size_t i = 0; i < function.size(); i += 2) else_true = else_true && function[i];
      size.clauses += else_true ? 1 : 2;
    }
  }
  return size;
}

Size counter_size(const std::vector<std::int64_t>& weights, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(weights.size());
  Size size{(n - 1) * k, (n - 2) * k + n - 1};
  for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
    size.clauses += weights[i];
    if (i > 0) size.clauses += k - weights[i];
  }
  return size;
}

/// Every canonical sum of n terms with weights up to `heaviest`: descending, gcd 1.
void each_canonical(std::size_t n, std::int64_t heaviest,
                    const std::function<void(const std::vector<std::int64_t>&, std::int64_t)>& f) {
  std::vector<std::int64_t> weights(n, 1);
  for (;;) {
    std::int64_t divisor = 0;
    for (const std::int64_t w : weights) divisor = std::gcd(divisor, w);
    const std::int64_t total = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    if (divisor == 1 && std::is_sorted(weights.rbegin(), weights.rend()))
      for (std::int64_t k = weights.front(); k < total; ++k) f(weights, k);
    std::size_t i = 0;
    while (i < n && ++weights[i] > heaviest) weights[i++] = 1;
    if (i == n) return;
  }
}

PseudoBoolean sum_of(const std::vector<std::int64_t>& weights, const std::vector<Lit>& literals,
                     std::int64_t bound) {
  PseudoBoolean sum{{}, bound};
  for (std::size_t i = 0; i < weights.size(); ++i) sum.terms.push_back({weights[i], literals[i]});
  return sum;
}

}  // namespace

TEST_CASE("at most one: models, propagation, size") {
  for (std::int64_t n = 0; n <= 7; ++n) {
    CAPTURE(n);
    const Size pairwise =
        check_sum(ones(n), 1, [](Formula& f, const std::vector<Lit>& x) { amo_pairwise(f, x); });
    CHECK(pairwise == Size{0, n * (n - 1) / 2});
    const Size ladder =
        check_sum(ones(n), 1, [](Formula& f, const std::vector<Lit>& x) { amo_ladder(f, x); });
    CHECK(ladder == (n < 2 ? Size{} : Size{n - 1, 3 * n - 4}));
    const Size product =
        check_sum(ones(n), 1, [](Formula& f, const std::vector<Lit>& x) { amo_product(f, x); });
    CHECK(product == product_size(n));
  }
}

TEST_CASE("at most one: size of the product for larger n, and where it beats the ladder") {
  for (std::int64_t n = 8; n <= 200; ++n) {
    CAPTURE(n);
    CountingSink sink;
    Formula f(sink);
    std::vector<Lit> x(static_cast<std::size_t>(n));
    for (Lit& l : x) l = f.fresh();
    amo_product(f, x);
    CHECK(Size{sink.variables() - n, sink.clauses()} == product_size(n));
    if (n >= 45) CHECK(sink.clauses() < 3 * n - 4);
    if (n <= 17 || n == 44) CHECK(sink.clauses() >= 3 * n - 4);
  }
}

TEST_CASE("cardinality: models, propagation, size") {
  for (std::int64_t n = 0; n <= 7; ++n)
    for (std::int64_t k = -1; k <= n + 1; ++k) {
      CAPTURE(n);
      CAPTURE(k);
      const Size sequential = check_sum(
          ones(n), k, [k](Formula& f, const std::vector<Lit>& x) { card_sequential(f, x, k); });
      const Size totalizer = check_sum(
          ones(n), k, [k](Formula& f, const std::vector<Lit>& x) { card_totalizer(f, x, k); });
      if (k < 0) {
        CHECK(sequential == Size{0, 1});
        CHECK(totalizer == Size{0, 1});
      } else if (k >= n) {
        CHECK(sequential == Size{});
        CHECK(totalizer == Size{});
      } else if (k == 0) {
        CHECK(sequential == Size{0, n});
        CHECK(totalizer == Size{0, n});
      } else {
        CHECK(sequential == Size{k * (n - 1), 2 * n * k + n - 3 * k - 1});
        Size expected = totalizer_size(n, k);
        ++expected.clauses;  // the unit clause at the root
        CHECK(totalizer == expected);
      }
    }
}

TEST_CASE("pseudo-Boolean: models, propagation, size, all small canonical sums") {
  int sums = 0;
  const auto check_one = [&](const std::vector<std::int64_t>& weights, std::int64_t k) {
    CAPTURE(k);
    std::string text;
    for (const std::int64_t w : weights) text += " " + std::to_string(w);
    CAPTURE(text);
    const Size bdd = check_sum(weights, k, [&](Formula& f, const std::vector<Lit>& x) {
      pb_bdd(f, sum_of(weights, x, k));
    });
    CHECK(bdd == diagram_size(weights, k));
    const Size counter = check_sum(weights, k, [&](Formula& f, const std::vector<Lit>& x) {
      pb_swc(f, sum_of(weights, x, k));
    });
    CHECK(counter == counter_size(weights, k));
    std::vector<Lit> x;
    for (std::size_t i = 0; i < weights.size(); ++i) x.push_back(Lit::of(static_cast<int>(i) + 1));
    CHECK(pb_bdd_nodes(sum_of(weights, x, k), 1000) == bdd.variables);
    CHECK(pb_bdd_nodes(sum_of(weights, x, k), bdd.variables) == bdd.variables);
    CHECK(pb_bdd_nodes(sum_of(weights, x, k), bdd.variables - 1) == bdd.variables);
    const auto n = static_cast<std::int64_t>(weights.size());
    if (weights.front() == 1) CHECK(bdd.variables == (k + 1) * (n - k));
    CHECK(bdd.clauses <= 2 * bdd.variables + 1);
    ++sums;
  };
  each_canonical(2, 9, check_one);
  each_canonical(3, 7, check_one);
  each_canonical(4, 5, check_one);
  each_canonical(5, 3, check_one);
  CHECK(sums > 800);
}

TEST_CASE("pseudo-Boolean: random canonical sums of 6 and 7 terms") {
  Random random(7);
  for (int round = 0; round < 25; ++round) {
    std::vector<std::int64_t> weights(static_cast<std::size_t>(random.range(6, 7)));
    for (auto& w : weights) w = random.range(1, 12);
    weights.back() = 1;
    std::sort(weights.rbegin(), weights.rend());
    const std::int64_t total = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    const std::int64_t k = random.range(weights.front(), total - 1);
    CAPTURE(round);
    CHECK(check_sum(weights, k, [&](Formula& f, const std::vector<Lit>& x) {
            pb_bdd(f, sum_of(weights, x, k));
          }) == diagram_size(weights, k));
    CHECK(check_sum(weights, k, [&](Formula& f, const std::vector<Lit>& x) {
            pb_swc(f, sum_of(weights, x, k));
          }) == counter_size(weights, k));
  }
}

TEST_CASE("sums that are false or say nothing") {
  for (const auto encode : {pb_bdd, pb_swc}) {
    MemoryCnf cnf;
    Formula f(cnf);
    encode(f, {{}, 0});
    CHECK(cnf.clauses() == 0);
    encode(f, {{}, -1});
    CHECK(cnf.clauses() == 1);
    CHECK(cnf.clause(0).empty());
  }
  CHECK(pb_bdd_nodes({{}, 0}, 10) == 0);
  CHECK(pb_bdd_nodes({{}, -1}, 10) == 0);
}

namespace {

/// Random terms over four variables: constants, equal and opposite literals, zero weights.
std::vector<Term> random_terms(Random& random) {
  std::vector<Term> terms(static_cast<std::size_t>(random.range(0, 7)));
  for (Term& t : terms) {
    t.weight = random.percent(15) ? 0 : random.range(1, 9);
    const int variable = static_cast<int>(random.range(1, 4));
    t.literal = random.percent(10)   ? kTrueLit
                : random.percent(10) ? kFalseLit
                : random.percent(40) ? ~Lit::of(variable)
                                     : Lit::of(variable);
    if (random.percent(30)) t.weight *= 6;  // gcd and heavy terms
  }
  return terms;
}

std::int64_t value_of(const std::vector<Term>& terms, int assignment) {
  std::int64_t sum = 0;
  for (const Term& t : terms) {
    bool holds = t.literal.is_true();
    if (!t.literal.is_constant()) {
      const int code = t.literal.dimacs();
      holds = (assignment >> (std::abs(code) - 1) & 1) == (code > 0 ? 1 : 0);
    }
    if (holds) sum += t.weight;
  }
  return sum;
}

/// Over inputs 1 .. 4: exactly the assignments with sum <= bound are models of what `emit` adds?
bool same_models(const std::vector<Term>& terms, std::int64_t bound,
                 const std::function<void(Formula&)>& emit) {
  MemoryCnf cnf;
  Formula f(cnf);
  for (int i = 0; i < 4; ++i) f.fresh();
  emit(f);
  for (int assignment = 0; assignment < 16; ++assignment) {
    std::vector<Lit> assumed;
    for (int i = 0; i < 4; ++i)
      assumed.push_back(assignment >> i & 1 ? Lit::of(i + 1) : ~Lit::of(i + 1));
    if (satisfiable(cnf, assumed) != (value_of(terms, assignment) <= bound)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("canonical form: canonical, and equal to the constraint") {
  Random random(11);
  int left = 0, empty = 0, impossible = 0;
  for (int round = 0; round < 8000; ++round) {
    CAPTURE(round);
    const std::vector<Term> terms = random_terms(random);
    const std::int64_t bound = random.range(-2, 30);
    PseudoBoolean sum;
    REQUIRE(same_models(terms, bound, [&](Formula& f) {
      sum = canonical(f, terms, bound);
      if (sum.bound < 0) f.clause({});
      // The canonical sum by its minimal violations, clause by clause.
      for (std::size_t set = 1; set < std::size_t{1} << sum.terms.size(); ++set) {
        std::int64_t weight = 0;
        std::vector<Lit> clause;
        for (std::size_t i = 0; i < sum.terms.size(); ++i)
          if (set >> i & 1) {
            weight += sum.terms[i].weight;
            clause.push_back(~sum.terms[i].literal);
          }
        if (weight > sum.bound) f.clause(clause);
      }
    }));
    if (sum.terms.empty()) {
      ++(sum.bound < 0 ? impossible : empty);
      continue;
    }
    ++left;
    std::int64_t divisor = 0, total = 0;
    std::set<int> variables;
    for (std::size_t i = 0; i < sum.terms.size(); ++i) {
      const Term& t = sum.terms[i];
      CHECK(t.weight > 0);
      CHECK(t.weight <= sum.bound);
      if (i > 0) CHECK(sum.terms[i - 1].weight >= t.weight);
      divisor = std::gcd(divisor, t.weight);
      total += t.weight;
      variables.insert(std::abs(t.literal.dimacs()));
    }
    CHECK(divisor == 1);
    CHECK(total > sum.bound);
    CHECK(variables.size() == sum.terms.size());
  }
  CHECK(left > 500);
  CHECK(empty > 500);
  CHECK(impossible > 500);
}

TEST_CASE("the chosen encodings take constants and any sum") {
  Random random(12);
  for (const char* text : {"", "pb=bdd", "pb=swc", "card=seqcounter", "card=ktotalizer",
                           "amo=pairwise", "amo=ladder", "amo=product"}) {
    const EncodingChoice choice = parse_encoding(text);
    for (int round = 0; round < 700; ++round) {
      CAPTURE(text);
      CAPTURE(round);
      std::vector<Term> terms = random_terms(random);
      const std::int64_t bound = random.range(-2, 30);
      REQUIRE(same_models(terms, bound, [&](Formula& f) { at_most_sum(f, choice, terms, bound); }));
      std::vector<Lit> literals;
      for (Term& t : terms) {
        t.weight = 1;
        literals.push_back(t.literal);
      }
      const std::int64_t k = random.range(-1, 5);
      REQUIRE(same_models(terms, k, [&](Formula& f) { at_most(f, choice, literals, k); }));
      REQUIRE(same_models(terms, 1, [&](Formula& f) { at_most_one(f, choice, literals); }));
    }
  }
}

TEST_CASE("the automatic choice is the documented one") {
  const auto size = [](const std::string& text, const std::vector<std::int64_t>& weights,
                       std::int64_t bound) {
    CountingSink sink;
    Formula f(sink);
    std::vector<Term> terms;
    for (const std::int64_t w : weights) terms.push_back({w, f.fresh()});
    at_most_sum(f, parse_encoding(text), terms, bound);
    return Size{sink.variables(), sink.clauses()};
  };
  for (std::int64_t n = 2; n <= 30; ++n) {
    CAPTURE(n);
    CHECK(size("", ones(n), 1) == size(n <= 5 ? "amo=pairwise" : "amo=ladder", ones(n), 1));
    for (std::int64_t k = 2; k < n; ++k) {
      const Size automatic = size("", ones(n), k);
      const Size sequential = size("card=seqcounter", ones(n), k);
      const Size totalizer = size("card=ktotalizer", ones(n), k);
      CHECK(automatic.clauses == std::min(sequential.clauses, totalizer.clauses));
    }
  }
  Random random(13);
  int diagrams = 0, counters = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> weights(static_cast<std::size_t>(random.range(3, 14)), 1);
    for (auto& w : weights)
      if (round % 2 == 0 && random.percent(40)) w = random.range(1, 5);
    weights[0] = 2;
    weights[1] = 1;
    std::sort(weights.rbegin(), weights.rend());
    const std::int64_t total = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    const std::int64_t k =
        random.range(weights.front(), std::min<std::int64_t>(total - 1, round % 2 == 0 ? 12 : 3));
    const auto n = static_cast<std::int64_t>(weights.size());
    const Size diagram = size("pb=bdd", weights, k), counter = size("pb=swc", weights, k);
    const bool small = diagram.variables - n <= n * k;
    CHECK(size("", weights, k) == (small ? diagram : counter));
    ++(small ? diagrams : counters);
  }
  CHECK(diagrams > 20);
  CHECK(counters > 20);
}
