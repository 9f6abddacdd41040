#include "gpu/tests/forward_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace twill::gpu::tests {

namespace {

double dot(const float* a, const float* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// softmax(scores) V with the probabilities as `p` makes them.
template <class Probability>
std::vector<double> weighted(const RowInput& row, const std::vector<double>& scores,
                             const Probability& probability) {
  std::vector<double> o(static_cast<std::size_t>(row.head_dim), 0.0);
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double s : scores) sum += std::exp(s - most);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double p = probability(std::exp(scores[j] - most) / sum);
    for (std::size_t c = 0; c < o.size(); ++c) o[c] += p * static_cast<double>(row.v[j][c]);
  }
  return o;
}

}  // namespace

RowOutput reference_row(const RowInput& row, float (*round)(float)) {
  RowOutput out;
  const auto rounded = [&](double x) { return static_cast<double>(round(static_cast<float>(x))); };
  if (row.k.empty()) {
    out.o.assign(static_cast<std::size_t>(row.head_dim), 0.0);
    out.baseline = out.o;
    out.lse = -std::numeric_limits<double>::infinity();
    return out;
  }
  std::vector<double> scores;
  scores.reserve(row.k.size());
  for (const float* k : row.k) scores.push_back(row.scale * dot(row.q, k, row.head_dim));
  out.o = weighted(row, scores, [](double p) { return p; });
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double s : scores) sum += std::exp(s - most);
  out.lse = most + std::log(sum);
  std::vector<double> short_scores = scores;
  for (double& s : short_scores) s = rounded(s);
  out.baseline = weighted(row, short_scores, rounded);
  for (double& x : out.baseline) x = rounded(x);
  return out;
}

}  // namespace twill::gpu::tests
