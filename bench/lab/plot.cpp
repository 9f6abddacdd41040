#include "bench/lab/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace twill::bench {
namespace {

constexpr double kWidth = 640, kHeight = 420, kLeft = 60, kBottom = 44, kTop = 30, kRight = 12;
constexpr double kShortest = 1e-4;  // seconds; what is faster is drawn there
// Okabe and Ito's colours, which colour-blind readers tell apart, and three darker ones.
constexpr std::array<const char*, 10> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#000000", "#7f3b08",
                                                  "#542788", "#01665e"};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string tick(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

struct Axis {
  double low, high, from, to;
  bool logarithmic;
  double at(double value) const {
    const double v = logarithmic
                         ? std::log10(std::clamp(value, low, high) / low) / std::log10(high / low)
                         : (value - low) / (high - low);
    return from + v * (to - from);
  }
  std::vector<double> ticks() const {
    std::vector<double> out;
    if (logarithmic) {
      for (double t = low; t <= high * 1.0001; t *= 10) out.push_back(t);
    } else {
      double step = std::pow(10, std::floor(std::log10(std::max(1.0, high - low))));
      if ((high - low) / step < 3) step /= 5;
      step = std::max(step, 1.0);
      for (double t = low; t <= high; t += step) out.push_back(t);
    }
    return out;
  }
};

// The power of ten at which an axis of seconds begins.
double first_second(double least, double limit) {
  const double from = std::clamp(least, kShortest, std::max(limit, 0.1) / 10);
  return std::pow(10, std::floor(std::log10(from * 1.0001)));
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\" " + style + "/>\n";
}

std::string text(double x, double y, const std::string& content, const std::string& style = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " + style + ">" +
         xml_text(content) + "</text>\n";
}

std::string frame(const Axis& x, const Axis& y, const std::string& title,
                  const std::string& x_title, const std::string& y_title, double width) {
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) +
                    "\" viewBox=\"0 0 " + number(width) + " " + number(kHeight) +
                    "\" font-family=\"sans-serif\" font-size=\"11\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  svg += text(kLeft, 18, title, "font-size=\"13\" font-weight=\"bold\"");
  for (const double t : x.ticks()) {
    svg += line(x.at(t), y.from, x.at(t), y.to, "stroke=\"#ddd\"");
    svg += text(x.at(t), y.from + 14, tick(t), "text-anchor=\"middle\"");
  }
  for (const double t : y.ticks()) {
    svg += line(x.from, y.at(t), x.to, y.at(t), "stroke=\"#ddd\"");
    svg += text(x.from - 5, y.at(t) + 4, tick(t), "text-anchor=\"end\"");
  }
  svg += text((x.from + x.to) / 2, kHeight - 8, x_title, "text-anchor=\"middle\"");
  svg += text(
      14, (y.from + y.to) / 2, y_title,
      "text-anchor=\"middle\" transform=\"rotate(-90 14 " + number((y.from + y.to) / 2) + ")\"");
  return svg;
}

}  // namespace

std::string xml_text(const std::string& raw) {
  std::string out;
  for (const char c : raw) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string cdf_svg(const std::string& title, const std::vector<Curve>& curves, double limit) {
  double most = 1;
  for (const Curve& c : curves)
    if (!c.points.empty()) most = std::max(most, c.points.back().second);
  double least = limit;
  for (const Curve& c : curves)
    for (const auto& [seconds, solved] : c.points) least = std::min(least, seconds);
  constexpr double kLegend = 330;
  const Axis x{first_second(least, limit), std::max(limit, 0.1), kLeft, kWidth - kRight, true};
  const Axis y{0, most, kHeight - kBottom, kTop, false};
  std::string svg =
      frame(x, y, title, "CPU seconds a question", "questions solved", kWidth + kLegend);
  for (std::size_t i = curves.size(); i-- > 0;) {
    const bool named = i < kColours.size();
    std::string path;
    double before = 0;
    for (const auto& [seconds, solved] : curves[i].points) {
      path += (path.empty() ? "M" : "L") + number(x.at(seconds)) + " " + number(y.at(before)) +
              "L" + number(x.at(seconds)) + " " + number(y.at(solved));
      before = solved;
    }
    if (path.empty()) continue;
    path += "L" + number(x.to) + " " + number(y.at(before));
    svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + (named ? kColours[i] : "#bbb") +
           "\" stroke-width=\"" + (named ? "1.8" : "0.7") + "\"/>\n";
    if (!named) continue;
    const double at = kTop + 14 * static_cast<double>(i);
    svg += line(kWidth, at, kWidth + 18, at,
                std::string("stroke=\"") + kColours[i] + "\" stroke-width=\"2\"");
    svg += text(kWidth + 24, at + 4, curves[i].name);
  }
  return svg + "</svg>\n";
}

std::string lines_svg(const Lines& lines) {
  double least = 1e300, most = 0, last = 10;
  for (const Curve& c : lines.curves)
    for (const auto& [x, y] : c.points) {
      least = std::min(least, y);
      most = std::max(most, y);
      last = std::max(last, x);
    }
  constexpr double kLegend = 170;
  const Axis x{1, last, kLeft, kWidth - kRight, true};
  const double step = std::pow(10, std::floor(std::log10(std::max(1.0, most - least))));
  const Axis y{std::floor(least / step) * step, most + 1, kHeight - kBottom, kTop, false};
  std::string svg = frame(x, y, lines.title, lines.x_title, lines.y_title, kWidth + kLegend);
  for (const auto& [at, remark] : lines.marks) {
    svg += line(x.at(at), y.from, x.at(at), y.to, "stroke=\"#888\" stroke-dasharray=\"3 3\"");
    svg += text(x.at(at) + 4, kTop + 12, remark,
                "transform=\"rotate(90 " + number(x.at(at) + 4) + " " + number(kTop + 12) +
                    ")\" fill=\"#555\"");
  }
  for (std::size_t i = std::min(lines.curves.size(), kColours.size()); i-- > 0;) {
    std::string path;
    for (const auto& [px, py] : lines.curves[i].points)
      path += (path.empty() ? "M" : "L") + number(x.at(px)) + " " + number(y.at(py));
    svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + kColours[i] +
           "\" stroke-width=\"1.8\"" + (i > 0 ? " stroke-dasharray=\"6 3\"" : "") + "/>\n";
    const double at = kTop + 14 * static_cast<double>(i + 1);
    svg += line(kWidth, at, kWidth + 18, at,
                std::string("stroke=\"") + kColours[i] + "\" stroke-width=\"2\"");
    svg += text(kWidth + 24, at + 4, lines.curves[i].name);
  }
  return svg + "</svg>\n";
}

std::string scatter_svg(const std::string& x_name, const std::string& y_name,
                        const std::vector<ScatterPoint>& points, double limit) {
  const double high = std::max(limit, 0.1);
  const double side = kHeight - kBottom - kTop;
  double least = limit;
  for (const ScatterPoint& p : points) least = std::min({least, p.x, p.y});
  const double low = first_second(least, limit);
  const Axis x{low, high, kLeft, kLeft + side, true};
  const Axis y{low, high, kHeight - kBottom, kTop, true};
  std::string svg = frame(x, y, "CPU seconds", x_name, y_name, kLeft + side + 110);
  svg += line(x.from, y.from, x.to, y.to, "stroke=\"#888\"");
  svg += line(x.to, y.from, x.to, y.to, "stroke=\"#d55e00\" stroke-dasharray=\"4 3\"");
  svg += line(x.from, y.to, x.to, y.to, "stroke=\"#d55e00\" stroke-dasharray=\"4 3\"");
  for (const ScatterPoint& p : points) {
    const std::string colour = p.sat ? "#0072b2" : "#d55e00";
    const std::string at = "<title>" + xml_text(p.name) + "</title>";
    if (p.sat)
      svg += "<circle cx=\"" + number(x.at(p.x)) + "\" cy=\"" + number(y.at(p.y)) +
             "\" r=\"3\" fill=\"none\" stroke=\"" + colour + "\">" + at + "</circle>\n";
    else
      svg += "<path d=\"M" + number(x.at(p.x) - 3) + " " + number(y.at(p.y) - 3) +
             "l6 6m0 -6l-6 6" + "\" stroke=\"" + colour + "\">" + at + "</path>\n";
  }
  svg += text(x.to + 10, kTop + 10, "o SAT", "fill=\"#0072b2\"");
  svg += text(x.to + 10, kTop + 26, "x UNSAT", "fill=\"#d55e00\"");
  return svg + "</svg>\n";
}

std::string growth_svg(const Growth& growth) {
  double low_x = 1e300, high_x = 1, low_y = 1e300, high_y = 1e-300;
  for (const GrowthPoint& p : growth.runs) {
    low_x = std::min(low_x, p.x);
    high_x = std::max(high_x, p.x);
    low_y = std::min(low_y, std::max(p.y, 1e-4));
    high_y = std::max(high_y, p.y);
  }
  if (growth.runs.empty()) low_x = low_y = 1;
  const auto down = [](double v) { return std::pow(10, std::floor(std::log10(v))); };
  const auto up = [](double v) { return std::pow(10, std::ceil(std::log10(v * 1.0001))); };
  const Axis x{down(low_x), up(high_x), kLeft, kWidth - kRight, true};
  const Axis y{down(low_y), up(std::max(high_y, low_y)), kHeight - kBottom, kTop, true};
  std::string svg = frame(x, y, growth.title, growth.x_title, growth.y_title, kWidth + 230);
  for (const GrowthPoint& p : growth.runs) {
    const std::string at = "<title>" + xml_text(p.name) + "</title>";
    if (p.solved)
      svg += "<circle cx=\"" + number(x.at(p.x)) + "\" cy=\"" + number(y.at(p.y)) +
             "\" r=\"3\" fill=\"none\" stroke=\"#0072b2\">" + at + "</circle>\n";
    else
      svg += "<path d=\"M" + number(x.at(p.x) - 4) + " " + number(y.at(p.y) + 3) +
             "l4 -7l4 7z\" fill=\"none\" stroke=\"#d55e00\">" + at + "</path>\n";
  }
  std::string path;
  for (const auto& [at, value] : growth.medians)
    path += (path.empty() ? "M" : "L") + number(x.at(at)) + " " + number(y.at(value));
  if (!path.empty())
    svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"#000\" stroke-width=\"1.8\"/>\n";
  if (growth.factor > 0 && !growth.medians.empty()) {
    const auto fitted = [&](double at) { return growth.factor * std::pow(at, growth.exponent); };
    const double from = growth.medians.front().first, to = growth.medians.back().first;
    svg += line(x.at(from), y.at(fitted(from)), x.at(to), y.at(fitted(to)),
                "stroke=\"#009e73\" stroke-width=\"1.8\" stroke-dasharray=\"6 4\"");
  }
  const double legend = kWidth + 6;
  svg += text(legend, kTop + 10, "o solved, proved optimal", "fill=\"#0072b2\"");
  svg += text(legend, kTop + 26, "\u25b3 limit reached: at least", "fill=\"#d55e00\"");
  svg += text(legend, kTop + 42, "medians");
  svg += text(legend, kTop + 58, growth.fit_text, "fill=\"#009e73\"");
  return svg + "</svg>\n";
}

std::string ranks_svg(const Ranks& ranks) {
  constexpr double kRow = 16, kLabels = 330, kBar = 7, kAxis = 52;
  // Of bars only those that no other holds.
  std::vector<std::pair<std::size_t, std::size_t>> bars;
  for (std::size_t first = 0; first < ranks.names.size(); ++first) {
    std::size_t last = first;
    while (last + 1 < ranks.names.size() &&
           ranks.names[last + 1].first - ranks.names[first].first < ranks.critical_difference)
      ++last;
    if (last > first && (bars.empty() || last > bars.back().second)) bars.emplace_back(first, last);
  }
  double low = 1, high = 2;
  for (const auto& [rank, name] : ranks.names) {
    low = std::min(low, std::floor(rank));
    high = std::max(high, std::ceil(rank));
  }
  const Axis x{low, high, kLeft, kWidth - kRight, false};
  const double top = kAxis + 10 + kBar * static_cast<double>(bars.size());
  const double height = top + kRow * static_cast<double>(ranks.names.size()) + 10;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                    number(kWidth + kLabels) + "\" viewBox=\"0 0 " + number(kWidth + kLabels) +
                    " " + number(height) +
                    "\" font-family=\"sans-serif\" font-size=\"11\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  svg += text(kLeft, 18, ranks.title, "font-size=\"13\" font-weight=\"bold\"");
  svg += line(x.from, kAxis, x.to, kAxis, "stroke=\"#000\"");
  for (const double t : x.ticks()) {
    svg += line(x.at(t), kAxis - 4, x.at(t), kAxis, "stroke=\"#000\"");
    svg += text(x.at(t), kAxis - 7, tick(t), "text-anchor=\"middle\"");
  }
  if (ranks.critical_difference > 0) {
    const double to = std::min(x.to, x.at(low + ranks.critical_difference));
    svg += line(x.from, 28, to, 28, "stroke=\"#d55e00\" stroke-width=\"2\"");
    svg += text(to + 6, 32,
                "critical difference " + tick(std::round(100 * ranks.critical_difference) / 100),
                "fill=\"#d55e00\"");
  }
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = kAxis + 8 + kBar * static_cast<double>(i);
    svg +=
        line(x.at(ranks.names[bars[i].first].first) - 3, y,
             x.at(ranks.names[bars[i].second].first) + 3, y, "stroke=\"#000\" stroke-width=\"3\"");
  }
  for (std::size_t i = 0; i < ranks.names.size(); ++i) {
    const auto& [rank, name] = ranks.names[i];
    const double y = top + kRow * (static_cast<double>(i) + 0.5);
    svg += line(x.at(rank), kAxis, x.at(rank), y, "stroke=\"#888\"");
    svg += line(x.at(rank), y, x.to, y, "stroke=\"#888\"");
    svg += text(x.to + 6, y + 4, number(rank) + "  " + name);
  }
  return svg + "</svg>\n";
}

}  // namespace twill::bench
