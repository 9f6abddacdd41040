// What repeated measurements say of one or two unknown numbers, each with the range that holds what
// was measured. Private to graph/*.cpp.
#pragma once

#include <optional>
#include <vector>

namespace twill {

struct Estimate {
  double nominal = 0, low = 0, high = 0;  ///< low <= nominal <= high
};

/// What one amount of work took.
struct FitPoint {
  double x = 0;                          ///< > 0
  double low = 0, middle = 0, high = 0;  ///< cycles
};

/// Of the repetitions, ascending: the median, and the 5 % and 95 % quantiles (by nearest rank, so
/// that with fewer than 20 they are the smallest and the largest).
FitPoint fit_point(double x, const std::vector<double>& ascending);

/// cycles = c: the median of the middles, from the lowest low to the highest high.
Estimate fit_constant(const std::vector<FitPoint>& points);

/// cycles = s x: the median of middle / x, from the lowest low / x to the highest high / x.
Estimate fit_slope(const std::vector<FitPoint>& points);

struct Line {
  Estimate base, slope;
};

/// cycles = b + s x. The nominal slope is the median of the slopes between any two points (Theil
/// 1950, Sen 1968), the nominal base the median of middle - s x: half of neither kind of number can
/// be far off. The range of the slope is what the points at least half of the whole width apart say
/// when one is low and the other high, not below 0 where the nominal one is above; that of the base
/// follows from the points of the smallest x.
/// Both are then widened until base + slope x at the low ends is at most each point's low, and at
/// the high ends at least each point's high. Nullopt where all x are equal.
std::optional<Line> fit_line(const std::vector<FitPoint>& points);

}  // namespace twill
