#include "graph/unroll.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

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

namespace {

Op unnamed(Op op) {
  op.id.clear();
  op.kind.clear();
  return op;
}

auto key(const Edge& e) {
  return std::tuple(e.from, e.to, e.delay, e.distance, e.blocking, e.hold, e.spill);
}

/// The first copy of `copies` that are alike, or none where they are not.
std::optional<Problem> first_copy(const Problem& problem, int copies) {
  const int count = static_cast<int>(problem.ops.size()) / copies;
  for (std::size_t v = at(count); v < problem.ops.size(); ++v)
    if (unnamed(problem.ops[v]) != unnamed(problem.ops[v % at(count)])) return std::nullopt;
  Problem loop = problem;
  loop.ops.resize(at(count));
  loop.edges.clear();
  for (Edge e : problem.edges) {
    if (e.from >= count) continue;
    if (e.distance > (kMaxDistance - e.to / count) / copies) return std::nullopt;
    e.distance = copies * e.distance + e.to / count;
    e.to %= count;
    loop.edges.push_back(e);
  }
  std::vector<decltype(key(Edge{}))> given, made;
  for (const Edge& e : problem.edges) given.push_back(key(e));
  for (int k = 0; k < copies; ++k)
    for (Edge e : loop.edges) {
      const int later = k + e.distance;
      e.from += k * count;
      e.to += later % copies * count;
      e.distance = later / copies;
      made.push_back(key(e));
    }
  std::sort(given.begin(), given.end());
  std::sort(made.begin(), made.end());
  if (given != made) return std::nullopt;
  return loop;
}

}  // namespace

std::optional<RolledLoop> rolled(const Problem& problem) {
  if (!problem.pins.empty() || !problem.inner_loops.empty() || problem.interval != IntervalRange{})
    return std::nullopt;
  const int ops = static_cast<int>(problem.ops.size());
  for (int copies = 2; copies <= std::min(ops, kMostCopies); ++copies)
    if (ops % copies == 0)
      if (auto loop = first_copy(problem, copies)) return RolledLoop{*std::move(loop), copies};
  return std::nullopt;
}

Schedule repeated(const Problem& unrolled, const RolledLoop& rolled, const Schedule& schedule) {
  Schedule all;
  all.initiation_interval = rolled.copies * schedule.initiation_interval;
  for (int k = 0; k < rolled.copies; ++k)
    for (std::size_t v = 0; v < rolled.loop.ops.size(); ++v) {
      all.start.push_back(schedule.start[v] + k * schedule.initiation_interval);
      all.warp.push_back(schedule.warp[v]);
    }
  all.length = schedule_length(unrolled, all.start);
  return all;
}

void unroll(Lowered& lowered, int copies) {
  lowered.problem = unrolled(lowered.problem, copies);
  if (copies == 1) return;
  for (BandwidthSum& sum : lowered.bandwidth) sum.cycles *= copies;
  if (lowered.made_by) lowered.made_by->options.emplace_back("unroll", std::to_string(copies));
}

}  // namespace twill
