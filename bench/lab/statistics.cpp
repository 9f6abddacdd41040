#include "bench/lab/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "graph/random.hpp"

namespace twill::bench {
namespace {

double normal_density(double z) {
  return std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
}

double normal_below(double z) {
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

// Of the range of k normal values: the chance that it is at most q. Simpson's rule over the largest
// of them.
double range_below(double q, std::size_t k) {
  constexpr int kSteps = 2'000;
  constexpr double kFarthest = 9;
  const double step = 2 * kFarthest / kSteps;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double z = -kFarthest + step * i;
    const double weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
    const double others = normal_below(z) - normal_below(z - q);
    sum += weight * normal_density(z) * std::pow(others, static_cast<double>(k) - 1);
  }
  return static_cast<double>(k) * sum * step / 3;
}

// How many choices of signs give each sum of the positive ranks, which are doubled: then they are
// whole numbers. As shares of all choices.
std::vector<double> sum_shares(const std::vector<double>& ranks) {
  std::vector<double> shares = {1};
  for (const double rank : ranks) {
    const auto twice = static_cast<std::size_t>(std::lround(2 * rank));
    std::vector<double> next(shares.size() + twice, 0);
    for (std::size_t sum = 0; sum < shares.size(); ++sum) {
      next[sum] += shares[sum] / 2;
      next[sum + twice] += shares[sum] / 2;
    }
    shares = std::move(next);
  }
  return shares;
}

}  // namespace

ConfidenceInterval bootstrap_mean(const std::vector<std::vector<double>>& groups,
                                  std::uint64_t seed, std::size_t resamples) {
  std::vector<std::pair<double, std::size_t>> sums;
  for (const auto& group : groups)
    if (!group.empty())
      sums.emplace_back(std::accumulate(group.begin(), group.end(), 0.0), group.size());
  if (sums.empty() || resamples == 0) return {};
  SplitMix64 random(seed);
  std::vector<double> means;
  for (std::size_t i = 0; i < resamples; ++i) {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t draw = 0; draw < sums.size(); ++draw) {
      const auto& [part, values] = sums[random.below(sums.size())];
      sum += part;
      count += values;
    }
    means.push_back(sum / static_cast<double>(count));
  }
  std::sort(means.begin(), means.end());
  const std::size_t tail = resamples / 40;  // 2.5 %
  return {means[tail], means[resamples - 1 - tail]};
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double shared = static_cast<double>(first + 1 + end) / 2;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = shared;
  }
  return ranks;
}

double signed_rank_p(const std::vector<double>& differences) {
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double d : differences) {
    if (d == 0) continue;
    sizes.push_back(std::abs(d));
    positive.push_back(d > 0);
  }
  if (sizes.empty()) return 1;
  const std::vector<double> ranks = ranks_of(sizes);
  double above = 0, all = 0, squares = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    all += ranks[i];
    squares += ranks[i] * ranks[i];
    if (positive[i]) above += ranks[i];
  }
  const double smaller = std::min(above, all - above);
  if (ranks.size() > kExactPairs) {
    // The variance with ties' corrections is a quarter of the sum of the squared ranks.
    const double z = std::min(0.0, smaller - all / 2 + 0.5) / std::sqrt(squares / 4);
    return std::min(1.0, 2 * normal_below(z));
  }
  const std::vector<double> shares = sum_shares(ranks);
  double tail = 0;
  for (std::size_t sum = 0; sum <= static_cast<std::size_t>(std::lround(2 * smaller)); ++sum)
    tail += shares[sum];
  return std::min(1.0, 2 * tail);
}

std::vector<double> holm_adjusted(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, p[order[i]] * static_cast<double>(order.size() - i));
    adjusted[order[i]] = std::min(1.0, largest);
  }
  return adjusted;
}

double critical_difference(std::size_t contestants, std::size_t questions) {
  assert(contestants >= 2 && questions >= 1);
  constexpr double kLevel = 0.05;
  double low = 0, high = 20;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (range_below(middle, contestants) < 1 - kLevel ? low : high) = middle;
  }
  const auto k = static_cast<double>(contestants), n = static_cast<double>(questions);
  return low / std::sqrt(2.0) * std::sqrt(k * (k + 1) / (6 * n));
}

}  // namespace twill::bench
