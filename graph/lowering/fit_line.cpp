#include "graph/lowering/fit_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace twill {
namespace {

double median(std::vector<double> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  if (all.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(all.begin(), middle)) / 2;
}

/// The estimate with its nominal value in its range.
Estimate within(double nominal, double low, double high) {
  return {std::clamp(nominal, std::min(low, high), std::max(low, high)), std::min(low, high),
          std::max(low, high)};
}

template <class Low, class Middle, class High>
Estimate over(const std::vector<FitPoint>& points, const Low& low, const Middle& middle,
              const High& high) {
  std::vector<double> middles;
  double least = low(points.front()), most = high(points.front());
  for (const FitPoint& p : points) {
    middles.push_back(middle(p));
    least = std::min(least, low(p));
    most = std::max(most, high(p));
  }
  return within(median(std::move(middles)), least, most);
}

}  // namespace

FitPoint fit_point(double x, const std::vector<double>& ascending) {
  constexpr double kTail = 0.05;
  const auto count = static_cast<double>(ascending.size());
  const auto at = [&](double rank) {
    return ascending[static_cast<std::size_t>(std::clamp(rank, 0.0, count - 1))];
  };
  // Nearest rank: the smallest value that at least 5 % are not above, and its mirror.
  const double below = std::ceil(kTail * count - 1e-9) - 1;
  return {x, at(below), median(ascending), at(count - 1 - below)};
}

Estimate fit_constant(const std::vector<FitPoint>& points) {
  return over(
      points, [](const FitPoint& p) { return p.low; }, [](const FitPoint& p) { return p.middle; },
      [](const FitPoint& p) { return p.high; });
}

Estimate fit_slope(const std::vector<FitPoint>& points) {
  return over(
      points, [](const FitPoint& p) { return p.low / p.x; },
      [](const FitPoint& p) { return p.middle / p.x; },
      [](const FitPoint& p) { return p.high / p.x; });
}

std::optional<Line> fit_line(const std::vector<FitPoint>& points) {
  double least = points.front().x, most = least;
  for (const FitPoint& p : points) {
    least = std::min(least, p.x);
    most = std::max(most, p.x);
  }
  if (least == most) return std::nullopt;
  std::vector<double> slopes;
  std::optional<double> low, high;
  for (const FitPoint& a : points)
    for (const FitPoint& b : points) {
      const double width = b.x - a.x;
      if (width <= 0) continue;
      slopes.push_back((b.middle - a.middle) / width);
      if (width < (most - least) / 2) continue;
      const double lowest = (b.low - a.high) / width, highest = (b.high - a.low) / width;
      low = std::min(low.value_or(lowest), lowest);
      high = std::max(high.value_or(highest), highest);
    }
  Line line;
  const double middle = median(std::move(slopes));
  line.slope = within(middle, middle > 0 ? std::max(*low, 0.0) : *low, *high);
  const double slope = line.slope.nominal;
  std::vector<double> bases;
  std::optional<double> base_low, base_high;
  for (const FitPoint& p : points) {
    bases.push_back(p.middle - slope * p.x);
    if (p.x > least) continue;
    const double lowest = p.low - line.slope.high * p.x, highest = p.high - line.slope.low * p.x;
    base_low = std::min(base_low.value_or(lowest), lowest);
    base_high = std::max(base_high.value_or(highest), highest);
  }
  for (const FitPoint& p : points) {
    base_low = std::min(*base_low, p.low - line.slope.low * p.x);
    base_high = std::max(*base_high, p.high - line.slope.high * p.x);
  }
  line.base = within(median(std::move(bases)), *base_low, *base_high);
  return line;
}

}  // namespace twill
