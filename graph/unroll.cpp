#include "graph/unroll.hpp"

#include <algorithm>
#include <string>

#include "graph/error.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

[[noreturn]] void refuse(const Problem& problem, const std::string& place, const std::string& value,
                         const std::string& rule) {
  throw InputError(problem.name, place, value, rule);
}

void check(const Problem& problem, int copies) {
  if (copies < 1 || copies > kMostCopies)
    refuse(problem, "unroll", std::to_string(copies),
           "must be from 1 to " + std::to_string(kMostCopies));
  const auto fits = [&](const char* what, std::size_t count, int most) {
    const std::size_t all = count * static_cast<std::size_t>(copies);
    if (all > static_cast<std::size_t>(most))
      refuse(problem, what, std::to_string(all), "must be at most " + std::to_string(most));
  };
  std::size_t segments = 0;
  for (const Op& op : problem.ops) {
    segments += op.reservations.size();
    if (copy_name(op.id, copies - 1).size() > static_cast<std::size_t>(kMaxNameBytes))
      refuse(problem, "ops", op.id, "its name is too long for a copy's");
  }
  fits("ops", problem.ops.size(), kMaxOps);
  fits("edges", problem.edges.size(), kMaxEdges);
  fits("pins", problem.pins.size(), kMaxPins);
  fits("reservations", segments, kMaxSegments);
  if (!problem.inner_loops.empty())
    refuse(problem, "inner_loops", problem.inner_loops.front().name,
           "a loop with a loop inside is not unrolled");
  for (const Pin& pin : problem.pins)
    if (pin.kind == Pin::at_cycle || pin.kind == Pin::at_stage)
      refuse(problem, "pins", pin_text(problem, pin),
             "a cycle or a stage is one of a loop that is not unrolled");
}

}  // namespace

std::string copy_name(const std::string& name, int copy) {
  return "i" + std::to_string(copy) + "_" + name;
}

Problem unrolled(const Problem& problem, int copies) {
  check(problem, copies);
  if (copies == 1) return problem;
  Problem result = problem;
  result.name += " unrolled " + std::to_string(copies) + " times";
  result.ops.clear();
  result.edges.clear();
  result.pins.clear();
  const int count = static_cast<int>(problem.ops.size());
  for (int k = 0; k < copies; ++k) {
    const int first = k * count;
    for (Op op : problem.ops) {
      op.id = copy_name(op.id, k);
      result.ops.push_back(std::move(op));
    }
    for (Edge edge : problem.edges) {
      const int later = k + edge.distance;
      edge.from += first;
      edge.to += later % copies * count;
      edge.distance = later / copies;
      result.edges.push_back(edge);
    }
    for (Pin pin : problem.pins) {
      pin.op += first;
      if (pin.other >= 0) pin.other += first;
      result.pins.push_back(pin);
    }
  }
  // (The ends of a range that asks nothing stay where they are.)
  const auto scaled = [&](Cycle end) {
    return end > kMaxInterval / copies ? kMaxInterval : end * copies;
  };
  if (problem.interval.least > 1) result.interval.least = scaled(problem.interval.least);
  if (problem.interval.most < kMaxInterval) result.interval.most = scaled(problem.interval.most);
  return result;
}

void unroll(Lowered& lowered, int copies) {
  lowered.problem = unrolled(lowered.problem, copies);
  if (copies == 1) return;
  for (BandwidthSum& sum : lowered.bandwidth) sum.cycles *= copies;
  if (lowered.made_by) lowered.made_by->options.emplace_back("unroll", std::to_string(copies));
}

}  // namespace twill
