// The laboratory's statistics, beside enumeration, published tables and SciPy 1.17.1.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/lab/significance.hpp"
#include "bench/lab/statistics.hpp"
#include "graph/random.hpp"

namespace lab_statistics_test {

using namespace twill;
using namespace twill::bench;

namespace {

// Both sides of the signed-rank test by all signs.
double enumerated_p(const std::vector<double>& differences) {
  std::vector<double> sizes;
  double above = 0, all = 0;
  for (const double d : differences)
    if (d != 0) sizes.push_back(std::abs(d));
  const std::vector<double> ranks = ranks_of(sizes);
  std::size_t at = 0;
  for (const double d : differences) {
    if (d == 0) continue;
    all += ranks[at];
    if (d > 0) above += ranks[at];
    ++at;
  }
  const double far = std::abs(above - all / 2);
  int as_far = 0;
  for (std::uint32_t signs = 0; signs < 1U << ranks.size(); ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if ((signs >> i & 1U) != 0) sum += ranks[i];
    as_far += std::abs(sum - all / 2) >= far - 1e-9;
  }
  return static_cast<double>(as_far) / static_cast<double>(1U << ranks.size());
}

// The same numbers as in the call of scipy.stats.wilcoxon that gave the values below.
std::vector<double> recurrence(int n, int shift) {
  std::vector<double> d;
  for (int i = 1; i <= n; ++i) d.push_back((i * i * 7919 + 13 * i) % 1009 - shift);
  return d;
}

Score score_of(const std::string& encoding, const std::map<std::string, double>& seconds) {
  Score score;
  score.encoding = encoding;
  for (const auto& [question, s] : seconds) {
    Outcome outcome;
    outcome.status = s < 0 ? "TIMEOUT" : "SAT";
    outcome.cpu_seconds = s;
    score.outcomes[question] = outcome;
  }
  return score;
}

// With a virtual best as scores_of() makes it.
Scores scores_of_all(std::vector<Score> encodings, double limit) {
  Scores all;
  all.limit = limit;
  for (const Score& s : encodings)
    for (const auto& [question, outcome] : s.outcomes) {
      const auto [best, fresh] = all.virtual_best.outcomes.emplace(question, outcome);
      if (!fresh && outcome.solved() &&
          (!best->second.solved() || outcome.cpu_seconds < best->second.cpu_seconds))
        best->second = outcome;
    }
  all.encodings = std::move(encodings);
  return all;
}

double virtual_par2(const Scores& scores) {
  double sum = 0;
  for (const auto& [question, o] : scores.virtual_best.outcomes)
    sum += o.solved() ? o.cpu_seconds : 2 * scores.limit;
  return sum / static_cast<double>(scores.virtual_best.outcomes.size());
}

}  // namespace

TEST_CASE("ranks: equal values share theirs") {
  CHECK(ranks_of({3, 1, 2}) == std::vector<double>{3, 1, 2});
  CHECK(ranks_of({5, 1, 5, 5}) == std::vector<double>{3, 1, 3, 3});
  CHECK(ranks_of({}).empty());
}

TEST_CASE("signed ranks: as by all signs, ties and zeros included") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    SplitMix64 random(seed);
    std::vector<double> d;
    for (std::int64_t i = random.range(1, 10); i-- > 0;)
      d.push_back(static_cast<double>(random.range(-4, 6)));
    if (std::all_of(d.begin(), d.end(), [](double v) { return v == 0; })) continue;
    CHECK(signed_rank_p(d) == doctest::Approx(enumerated_p(d)).epsilon(1e-9));
  }
  CHECK(signed_rank_p({}) == 1);
  CHECK(signed_rank_p({0, 0}) == 1);
}

TEST_CASE("signed ranks: as SciPy says") {
  CHECK(signed_rank_p(recurrence(12, 400)) == doctest::Approx(0.00927734375));
  CHECK(signed_rank_p(recurrence(55, 420)) == doctest::Approx(0.0026667718935282636));
  // By the normal approximation, with ties.
  CHECK(signed_rank_p(recurrence(100, 450)) == doctest::Approx(0.0003978695570507829));
  CHECK(signed_rank_p(recurrence(300, 470)) == doctest::Approx(0.028971296447567643));
}

TEST_CASE("Holm: each p times the tests that are left, never less than one before") {
  const std::vector<double> adjusted = holm_adjusted({0.01, 0.04, 0.03, 0.005});
  const std::vector<double> expected = {0.03, 0.06, 0.06, 0.02};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(adjusted[i] == doctest::Approx(expected[i]));
  CHECK(holm_adjusted({0.9, 0.8}) == std::vector<double>{1, 1});
}

TEST_CASE("critical differences: Demsar's table 5 (a), and SciPy's studentized range beyond") {
  const std::vector<std::pair<std::size_t, double>> quantiles = {
      {2, 1.960}, {3, 2.343}, {4, 2.569}, {5, 2.728}, {6, 2.850},
      {7, 2.949}, {8, 3.031}, {9, 3.102}, {10, 3.164}};
  for (const auto& [k, q] : quantiles) {
    const auto n = static_cast<double>(k);
    CHECK(critical_difference(k, 30) ==
          doctest::Approx(q * std::sqrt(n * (n + 1) / 180)).epsilon(0.0005));
  }
  CHECK(critical_difference(81, 1) ==
        doctest::Approx(4.210437181259646 * std::sqrt(81 * 82 / 6.0)).epsilon(1e-6));
}

TEST_CASE("bootstrap: nineteen intervals of twenty hold the mean; groups are drawn whole") {
  int held = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SplitMix64 random(seed);
    std::vector<std::vector<double>> groups;
    for (int i = 0; i < 40; ++i) groups.push_back({static_cast<double>(random.range(0, 100))});
    const ConfidenceInterval interval = bootstrap_mean(groups, seed, 400);
    CHECK(interval.low <= interval.high);
    held += interval.low <= 50 && 50 <= interval.high;
  }
  CHECK(held > 360);
  CHECK(held < 396);
  // A second look at the same instances says nothing new.
  const std::vector<std::vector<double>> once = {{1}, {4}, {9}, {16}},
                                         twice = {{1, 1}, {4, 4}, {9, 9}, {16, 16}};
  CHECK(bootstrap_mean(once, 3).low == bootstrap_mean(twice, 3).low);
  CHECK(bootstrap_mean(once, 3).high == bootstrap_mean(twice, 3).high);
  CHECK(bootstrap_mean({{2, 4}}, 0).low == 3);
  CHECK(bootstrap_mean({}, 0).high == 0);
}

TEST_CASE("what each contestant adds to the virtual best: beside leaving it out") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    SplitMix64 random(seed);
    std::vector<Score> encodings;
    for (int c = 0; c < 4; ++c) {
      std::map<std::string, double> seconds;
      for (int q = 0; q < 6; ++q)
        if (random.below(5) > 0)
          seconds["i" + std::to_string(q) + " #0"] =
              random.below(4) == 0 ? -1 : static_cast<double>(random.range(1, 9));
      encodings.push_back(score_of("e" + std::to_string(c), seconds));
    }
    const Scores all = scores_of_all(encodings, 10);
    const Significance comparison = significance_of(all);
    for (std::size_t c = 0; c < encodings.size(); ++c) {
      std::vector<Score> others = encodings;
      for (auto& [question, outcome] : others[c].outcomes) outcome.status = "TIMEOUT";
      CHECK(comparison.contribution[c] ==
            doctest::Approx(virtual_par2(scores_of_all(others, 10)) - virtual_par2(all)));
    }
  }
}

TEST_CASE("instances are compared, not their scrambles; unsolved counts as twice the limit") {
  const Scores scores = scores_of_all(
      {score_of("amo=ladder,pb=bdd", {{"a #0", 1}, {"a #1", 3}, {"b #0", 4}, {"c #0", -1}}),
       score_of("amo=pairwise,pb=bdd", {{"a #0", 2}, {"a #1", 6}, {"b #0", 1}, {"c #0", 5}}),
       score_of("kissat: amo=ladder,pb=bdd", {{"a #0", 1}, {"a #1", 1}, {"b #0", 2}})},
      10);
  const Significance comparison = significance_of(scores);
  REQUIRE(comparison.pairs.size() == 3);
  CHECK(comparison.pairs[0].instances == 3);
  CHECK(comparison.pairs[0].difference == doctest::Approx((2 - 4 + 4 - 1 + 20 - 5) / 3.0));
  CHECK(comparison.pairs[0].p == doctest::Approx(0.5));  // ranks -1, 2, 3
  CHECK(comparison.pairs[0].adjusted == doctest::Approx(1));
  CHECK(comparison.pairs[1].instances == 2);
  // On a and b, which all were asked: 2, 4, 1 and 4, 1, 2.
  CHECK(comparison.ranked_instances == 2);
  CHECK(comparison.mean_ranks == std::vector<double>{2.5, 2, 1.5});
  CHECK(comparison.critical_difference == doctest::Approx(critical_difference(3, 2)));
  // amo: ladder 2 and pairwise 4, 4 and 1, 20 and 5; pb has one value; solvers: 2 and 1, 4 and 2.
  std::map<std::string, ChoiceValue> choices;
  for (const ChoiceValue& one : comparison.choices) choices[one.key + "=" + one.value] = one;
  REQUIRE(choices.size() == 4);
  CHECK(choices["amo=pairwise"].mean_rank == doctest::Approx(4 / 3.0));
  CHECK(choices["amo=ladder"].mean_rank == doctest::Approx(5 / 3.0));
  CHECK(choices["amo=ladder"].comparisons == 3);
  CHECK(choices["solver=kissat"].mean_rank == doctest::Approx(1));
  CHECK(choices["solver=linked"].mean_rank == doctest::Approx(2));
  CHECK(choices["solver=linked"].mean_values == doctest::Approx(2));
}

}  // namespace lab_statistics_test
