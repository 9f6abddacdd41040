// Plots as SVG text: curves on linear and logarithmic axes, and scatter plots.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace twill::bench {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< x, y
};

/// Solved questions (y) within a time (x, logarithmic, seconds), a step curve each; the first ten
/// are drawn in colours and named, the others thin and grey.
std::string cdf_svg(const std::string& title, const std::vector<Curve>& curves, double limit);

struct ScatterPoint {
  double x = 0, y = 0;  ///< CPU seconds, at most the limit
  bool sat = false;
  std::string name;
};
/// Two encodings against each other, logarithmic; lines for equal and for the limit.
std::string scatter_svg(const std::string& x_name, const std::string& y_name,
                        const std::vector<ScatterPoint>& points, double limit);

struct GrowthPoint {
  double x = 0, y = 0;
  bool solved = true;  ///< else `y` is a lower bound
  std::string name;
};
/// Cost against a size, both logarithmic: a circle a run, a triangle where a limit came first, the
/// medians as a line, and the fitted power law dashed.
struct Growth {
  std::string title, x_title, y_title;
  std::vector<GrowthPoint> runs;
  std::vector<std::pair<double, double>> medians;
  double factor = 0, exponent = 0;  ///< y = factor * x ^ exponent; factor 0 = no fit
  std::string fit_text;
};
std::string growth_svg(const Growth& growth);

/// Curves over a logarithmic x, with their names beside them and remarks at some x.
struct Lines {
  std::string title, x_title, y_title;
  std::vector<Curve> curves;
  std::vector<std::pair<double, std::string>> marks;  ///< x and what is said of it
};
std::string lines_svg(const Lines& lines);

/// A critical-difference picture (Demsar, "Statistical comparisons of classifiers over multiple
/// data sets", JMLR 2006, figure 1): names on an axis of mean ranks, best first. A bar joins those
/// whose ranks differ by less than the critical difference.
struct Ranks {
  std::string title;
  std::vector<std::pair<double, std::string>> names;  ///< mean rank and name, ascending
  double critical_difference = 0;
};
std::string ranks_svg(const Ranks& ranks);

/// Text between tags.
std::string xml_text(const std::string& text);

}  // namespace twill::bench
