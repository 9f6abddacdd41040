// Power laws through medians, with runs that were not solved counted as what they are.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace twill::bench {

/// One run: its cost, or how much was spent before a limit ended it.
struct CostSample {
  double cost = 0;
  bool solved = true;
};

/// The upper median, every unsolved run larger than any solved one; nothing when it is unsolved
/// itself. It is exact although the costs of unsolved runs are not known.
std::optional<double> censored_median(std::vector<CostSample> runs);

/// y = factor * x ^ exponent by least squares on logarithms.
struct PowerLaw {
  double factor = 0, exponent = 0;
  double error = 0;  ///< standard error of the exponent; 0 with two points
};
/// Nothing with fewer than two different x, or a value that is not positive.
std::optional<PowerLaw> fit_power_law(const std::vector<std::pair<double, double>>& points);

}  // namespace twill::bench
