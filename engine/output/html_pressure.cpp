// Registers of each slot and each memory over one period, as steps below their capacity.

#include <algorithm>

#include "engine/output/html.hpp"
#include "engine/output/style.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

constexpr int kHeight = 64;

std::string rounded(double value) {
  return decimal(value, 3);
}

/// The drawing is 1000 x 64 units, stretched to its box; its top is the capacity or the peak.
std::string chart(const std::string& name, const Pressure& pressure, Cycle ii, int slot) {
  const double top =
      1.08 * static_cast<double>(std::max<Amount>(1, std::max(pressure.capacity, pressure.peak)));
  const auto x = [&](Cycle cycle) {
    return rounded(1000.0 * static_cast<double>(cycle) / static_cast<double>(ii));
  };
  const auto y = [&](Amount amount) {
    return rounded(kHeight * (1.0 - static_cast<double>(amount) / top));
  };
  std::string path = "M0 " + std::to_string(kHeight);
  for (std::size_t k = 0; k < pressure.steps.size(); ++k) {
    const auto& [from, amount] = pressure.steps[k];
    path += " H" + x(from) + " V" + y(amount);
  }
  path += " H1000 V" + std::to_string(kHeight) + " Z";
  const std::string full =
      pressure.capacity > 0
          ? percent(static_cast<double>(pressure.peak) / static_cast<double>(pressure.capacity))
          : "";
  return "<figure><figcaption><b>" + html_escape(name) + "</b> <span>" +
         std::to_string(pressure.peak) + " of " + std::to_string(pressure.capacity) +
         (pressure.peak > pressure.capacity ? " <em>exceeded</em>" : "") + "</span><span>" + full +
         "</span></figcaption><svg viewBox=\"0 0 1000 " + std::to_string(kHeight) +
         "\" preserveAspectRatio=\"none\"><title>peak " + std::to_string(pressure.peak) +
         " at cycle " + std::to_string(pressure.peak_cycle) + "</title><path class=\"fill " +
         (slot >= 0 ? "w" + std::to_string(slot) : std::string("mem")) + "\" d=\"" + path +
         "\"/><line class=\"cap\" x1=\"0\" x2=\"1000\" y1=\"" + y(pressure.capacity) + "\" y2=\"" +
         y(pressure.capacity) + "\"/></svg></figure>";
}

}  // namespace

std::string html_pressure(const Problem& problem, const Solution& solution,
                          const SteadyState& state) {
  std::string text;
  for (std::size_t w = 0; w < problem.warps.size(); ++w) {
    if (state.registers[w].peak == 0) continue;
    text += chart(problem.warps[w].name + " registers", state.registers[w], state.ii,
                  static_cast<int>(w));
  }
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    text += chart(problem.memories[m].name, state.memories[m], state.ii, -1);
  }
  if (text.empty() && solution.ring_depths.empty()) return {};
  text = "<h2>Registers a thread and memory, over one period</h2><div class=\"charts\">" + text +
         "</div>";
  if (!solution.ring_depths.empty()) {
    text += std::string("<p>") + ring_title(problem) + ":";
    for (const auto& [op, depth] : solution.ring_depths) {
      text += " <b>" + html_escape(op) + "</b> " + std::to_string(depth);
    }
    for (std::size_t m = 0; m < problem.memories.size(); ++m) {
      std::string terms;
      for (const ChargedRing& ring : state.memories[m].rings)
        terms += (terms.empty() ? "" : " + ") + html_escape(problem.ops[at(ring.load)].id) + " " +
                 std::to_string(ring.buffers) + " x " + std::to_string(ring.each);
      if (!terms.empty())
        text +=
            "; charged to " + html_escape(problem.memories[m].name) + " at every cycle: " + terms;
    }
    text += "</p>";
  }
  return text;
}

}  // namespace twill
