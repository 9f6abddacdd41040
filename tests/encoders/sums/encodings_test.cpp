// At-most-one, cardinality and pseudo-Boolean encodings: for every n and every partial assignment
// of the inputs, what the head of each file claims about models, propagation and size.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "encoders/choose.hpp"
#include "encoders/sinks.hpp"
#include "tests/support/encoding_sizes.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sum_check.hpp"
#include "tests/support/unit_propagation.hpp"

namespace encodings_test {

using namespace twill;
using namespace twill::test;

namespace {

Weights ones(std::int64_t n) {
  return Weights(static_cast<std::size_t>(n), 1);
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

/// What the table claims of an encoding, against what it does: the best that holds everywhere, so a
/// claim that is too modest fails too.
class Claim {
 public:
  explicit Claim(const EncodingInfo& row)
      : name_(row.key + "=" + row.value), claimed_(row.propagation) {}
  void see(const SumReport& report) {
    CAPTURE(name_);
    REQUIRE(report.models);
    REQUIRE(report.sound);
    consistent_ = consistent_ && report.consistent;
    arc_consistent_ = arc_consistent_ && report.arc_consistent;
    if (claimed_ != Propagation::none) REQUIRE(report.consistent);
    if (claimed_ == Propagation::arc_consistent) REQUIRE(report.arc_consistent);
  }
  void conclude() const {
    CAPTURE(name_);
    REQUIRE(claimed_ != Propagation::not_a_sum);
    const Propagation seen = !consistent_       ? Propagation::none
                             : !arc_consistent_ ? Propagation::consistent
                                                : Propagation::arc_consistent;
    CHECK(to_string(seen) == to_string(claimed_));
  }

 private:
  std::string name_;
  Propagation claimed_;
  bool consistent_ = true, arc_consistent_ = true;
};

// The sizes that the encodings' files state: a row for each.
const std::map<std::string, Size (*)(std::int64_t)> kAmoSizes = {
    {"pairwise", pairwise_size},   {"ladder", ladder_size}, {"product", product_size},
    {"commander", commander_size}, {"binary", binary_size}, {"bimander", bimander_size}};
const std::map<std::string, Size (*)(std::int64_t, std::int64_t)> kCardSizes = {
    {"seqcounter", seqcounter_size}, {"totalizer", totalizer_size},
    {"ktotalizer", ktotalizer_size}, {"kmtotalizer", kmtotalizer_size},
    {"sortnet", sortnet_size},       {"cardnet", cardnet_size},
    {"adder", card_adder_size}};
const std::map<std::string, Size (*)(const Weights&, std::int64_t)> kPbSizes = {
    {"bdd", bdd_size},     {"swc", swc_size},     {"gte", gte_size},       {"gpw", gpw_size},
    {"lpw", lpw_size},     {"dpw", dpw_size},     {"sorter", sorter_size}, {"adder", pb_adder_size},
    {"bdd-amo", bdd_size}, {"swc-amo", swc_size}, {"gte-amo", gte_size}};

/// One encoding of the table: what it emits, and its size.
struct Sum {
  const EncodingInfo* row;
  EncodingChoice choice;
  explicit Sum(const EncodingInfo& r) : row(&r), choice(parse_encoding(r.key + "=" + r.value)) {}

  void at_most_one(Formula& f, const std::vector<Lit>& x) const {
    twill::at_most_one(f, choice, x);
  }
  void at_most(Formula& f, const std::vector<Lit>& x, std::int64_t k) const {
    if (1 <= k && k < static_cast<std::int64_t>(x.size()))  // k = 1, too, not by amo
      return at_most_by(f, *row, x, k);
    twill::at_most(f, choice, x, k);
  }
  void at_most(Formula& f, const PseudoBoolean& sum) const { at_most_by(f, *row, sum); }
  template <class Sizes, class... Input>
  Size size(const Sizes& sizes, const Input&... input) const {
    CAPTURE(row->value);
    REQUIRE(sizes.contains(row->value));
    return sizes.at(row->value)(input...);
  }
};

std::vector<Sum> sums_of(const std::string& key) {
  std::vector<Sum> sums;
  for (const EncodingInfo& row : encoding_table())
    if (row.key == key) sums.emplace_back(row);
  return sums;
}
const std::vector<Sum> kAmos = sums_of("amo"), kCards = sums_of("card"), kPbs = sums_of("pb");

/// Nodes of the diagram of `bdd`, counted up to `limit`.
std::int64_t bdd_nodes(const PseudoBoolean& sum, std::int64_t limit) {
  CountingSink sink;
  Formula f(sink);
  return pb_bdd_within(f, sum, limit) ? sink.variables() : limit + 1;
}

/// Sizes of an encoding of n inputs without looking at its clauses.
template <class Encode>
Size built(std::int64_t n, Encode encode) {
  CountingSink sink;
  Formula f(sink);
  std::vector<Lit> x(static_cast<std::size_t>(n));
  for (Lit& l : x) l = f.fresh();
  encode(f, x);
  CHECK(f.variables() == sink.variables());
  CHECK(f.clauses() == sink.clauses());
  return {sink.variables() - n, sink.clauses()};
}

}  // namespace

TEST_CASE("at most one: models, propagation, size") {
  for (const Sum& amo : kAmos) {
    Claim claim(*amo.row);
    for (std::int64_t n = 0; n <= 7; ++n) {
      CAPTURE(n);
      const SumReport report = check_sum(
          ones(n), 1, [&](Formula& f, const std::vector<Lit>& x) { amo.at_most_one(f, x); });
      claim.see(report);
      CHECK(report.size == amo.size(kAmoSizes, n));
    }
    claim.conclude();
  }
}

TEST_CASE("at most one: sizes for larger n, and where the product beats the ladder") {
  for (std::int64_t n = 8; n <= 200; ++n) {
    CAPTURE(n);
    for (const Sum& amo : kAmos) {
      CHECK(built(n, [&](Formula& f, const std::vector<Lit>& x) { amo.at_most_one(f, x); }) ==
            amo.size(kAmoSizes, n));
    }
    if (n >= 45) CHECK(product_size(n).clauses < 3 * n - 4);
    if (n <= 17 || n == 44) CHECK(product_size(n).clauses >= 3 * n - 4);
  }
  CHECK(commander_size(64) == Size{21 + 7 + 3, 21 * 7 + 7 * 7 + 2 * 7 + 4 + 3});
  CHECK(bimander_size(64) == Size{5, 352});
  CHECK(binary_size(64) == Size{6, 384});
  CHECK(product_size(64) == Size{28, 172});
}

TEST_CASE("cardinality: models, propagation, size") {
  for (const Sum& card : kCards) {
    Claim claim(*card.row);
    for (std::int64_t n = 0; n <= 7; ++n)
      for (std::int64_t k = -1; k <= n + 1; ++k) {
        CAPTURE(n);
        CAPTURE(k);
        const SumReport report = check_sum(
            ones(n), k, [&](Formula& f, const std::vector<Lit>& x) { card.at_most(f, x, k); });
        claim.see(report);
        if (k < 0)
          CHECK(report.size == Size{0, 1});
        else if (k >= n)
          CHECK(report.size == Size{});
        else if (k == 0)
          CHECK(report.size == Size{0, n});
        else
          CHECK(report.size == card.size(kCardSizes, n, k));
      }
    claim.conclude();
  }
}

TEST_CASE("cardinality: sizes for larger n") {
  for (const std::int64_t n : {8, 9, 13, 16, 31, 32, 64, 100})
    for (std::int64_t k = 1; k < n; k += n < 20 ? 1 : 7)
      for (const Sum& card : kCards) {
        CAPTURE(n);
        CAPTURE(k);
        CHECK(built(n, [&](Formula& f, const std::vector<Lit>& x) { card.at_most(f, x, k); }) ==
              card.size(kCardSizes, n, k));
      }
  CHECK(totalizer_size(64, 4) == Size{384, 2401});
  CHECK(ktotalizer_size(64, 4) == Size{203, 509});
  CHECK(seqcounter_size(64, 4) == Size{252, 563});
  CHECK(sortnet_size(64, 4) == Size{1086, 1630});
  CHECK(card_adder_size(64, 4) == Size{126, 845 + 1});
}

namespace {

void check_weights(std::vector<Claim>& claims, const Weights& weights, std::int64_t k) {
  CAPTURE(k);
  std::string text;
  for (const std::int64_t w : weights) text += " " + std::to_string(w);
  CAPTURE(text);
  for (std::size_t i = 0; i < kPbs.size(); ++i) {
    const Sum& pb = kPbs[i];
    const SumReport report = check_sum(weights, k, [&](Formula& f, const std::vector<Lit>& x) {
      pb.at_most(f, sum_of(weights, x, k));
    });
    claims[i].see(report);
    CHECK(report.size == pb.size(kPbSizes, weights, k));
  }
}

std::vector<Claim> pb_claims() {
  std::vector<Claim> claims;
  for (const Sum& pb : kPbs) claims.emplace_back(*pb.row);
  return claims;
}

}  // namespace

TEST_CASE("pseudo-Boolean: models, propagation, size, all small canonical sums") {
  int sums = 0;
  std::vector<Claim> claims = pb_claims();
  const auto check_one = [&](const Weights& weights, std::int64_t k) {
    check_weights(claims, weights, k);
    std::vector<Lit> x;
    for (std::size_t i = 0; i < weights.size(); ++i) x.push_back(Lit::of(static_cast<int>(i) + 1));
    const Size bdd = bdd_size(weights, k);
    CHECK(bdd_nodes(sum_of(weights, x, k), 1000) == bdd.variables);
    CHECK(bdd_nodes(sum_of(weights, x, k), bdd.variables) == bdd.variables);
    CHECK(bdd_nodes(sum_of(weights, x, k), bdd.variables - 1) == bdd.variables);
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
  for (const Claim& claim : claims) claim.conclude();
}

TEST_CASE("pseudo-Boolean: random canonical sums of 6 and 7 terms") {
  Random random(7);
  std::vector<Claim> claims = pb_claims();
  for (int round = 0; round < 25; ++round) {
    Weights weights(static_cast<std::size_t>(random.range(6, 7)));
    for (auto& w : weights) w = random.range(1, 12);
    weights.back() = 1;
    std::sort(weights.rbegin(), weights.rend());
    const std::int64_t total = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    CAPTURE(round);
    check_weights(claims, weights, random.range(weights.front(), total - 1));
  }
  for (const Claim& claim : claims) claim.conclude();
}

TEST_CASE("pseudo-Boolean: sizes of larger sums") {
  Random random(17);
  for (int round = 0; round < 60; ++round) {
    Weights weights(static_cast<std::size_t>(random.range(8, 14)));
    const std::int64_t heaviest = random.percent(50) ? 9 : 60;
    for (auto& w : weights) w = random.range(1, heaviest);
    weights.back() = 1;
    std::sort(weights.rbegin(), weights.rend());
    const std::int64_t total = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    const std::int64_t k = random.range(weights.front(), total - 1);
    CAPTURE(round);
    for (const Sum& pb : kPbs) {
      CHECK(built(static_cast<std::int64_t>(weights.size()),
                  [&](Formula& f, const std::vector<Lit>& x) {
                    pb.at_most(f, sum_of(weights, x, k));
                  }) == pb.size(kPbSizes, weights, k));
    }
  }
}

TEST_CASE("sorter: the base is the cheapest") {
  const auto base = [](const Weights& weights) {
    PseudoBoolean sum;
    for (const std::int64_t w : weights) sum.terms.push_back({w, Lit::of(1)});
    return sorter_base(sum);
  };
  CHECK(base({1, 1, 1}).empty());
  // 5 and 25: digits of radix 5 need one input a weight.
  CHECK(base({25, 25, 5, 5, 1}) == Weights{5, 5});
  CHECK(base({12, 12, 12, 6, 6, 2, 1}).front() == 2);
}

TEST_CASE("sums that are false or say nothing") {
  for (const Sum& pb : kPbs) {
    MemoryCnf cnf;
    Formula f(cnf);
    const std::vector<Term> terms = {{2, f.fresh()}, {1, f.fresh()}};
    at_most_sum(f, pb.choice, std::span<const Term>(), 0);
    at_most_sum(f, pb.choice, terms, 3);
    CHECK(cnf.clauses() == 0);
    at_most_sum(f, pb.choice, terms, -1);
    CHECK(cnf.clauses() == 1);
    CHECK(cnf.clause(0).empty());
  }
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
  std::vector<std::string> texts = {""};
  for (const EncodingInfo& row : encoding_table())
    if (row.key == "amo" || row.key == "card" || row.key == "pb")
      texts.push_back(row.key + "=" + row.value);
  for (const std::string& text : texts) {
    const EncodingChoice choice = parse_encoding(text);
    for (int round = 0; round < 300; ++round) {
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

}  // namespace encodings_test
