#include "bench/fit.hpp"

#include <algorithm>
#include <cmath>

namespace twill::bench {

std::optional<double> censored_median(std::vector<CostSample> runs) {
  if (runs.empty()) return std::nullopt;
  std::sort(runs.begin(), runs.end(), [](const CostSample& a, const CostSample& b) {
    return a.solved != b.solved ? a.solved : a.cost < b.cost;
  });
  const CostSample& middle = runs[runs.size() / 2];
  if (!middle.solved) return std::nullopt;
  return middle.cost;
}

std::optional<PowerLaw> fit_power_law(const std::vector<std::pair<double, double>>& points) {
  const auto n = static_cast<double>(points.size());
  double mean_x = 0, mean_y = 0;
  for (const auto& [x, y] : points) {
    if (x <= 0 || y <= 0) return std::nullopt;
    mean_x += std::log(x) / n;
    mean_y += std::log(y) / n;
  }
  double xx = 0, xy = 0;
  for (const auto& [x, y] : points) {
    const double dx = std::log(x) - mean_x;
    xx += dx * dx;
    xy += dx * (std::log(y) - mean_y);
  }
  if (xx <= 0) return std::nullopt;
  PowerLaw law;
  law.exponent = xy / xx;
  law.factor = std::exp(mean_y - law.exponent * mean_x);
  double rest = 0;
  for (const auto& [x, y] : points) {
    const double off = std::log(y) - mean_y - law.exponent * (std::log(x) - mean_x);
    rest += off * off;
  }
  if (points.size() > 2) law.error = std::sqrt(rest / (n - 2) / xx);
  return law;
}

}  // namespace twill::bench
