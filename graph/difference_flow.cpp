#include "graph/difference_flow.hpp"

#include <functional>
#include <limits>
#include <queue>
#include <stdexcept>
#include <utility>

#include "graph/index.hpp"

namespace twill {
namespace {

// A flow in which what leaves a node, less what enters it, is to become -coefficient. The slacks of
// arcs under the values are their lengths; arcs with flow have none, which is what makes the two
// optimal together.
class Flow {
 public:
  Flow(std::span<const FlowArc> arcs, std::span<const int> coefficients, std::vector<Cycle> values)
      : arcs_(arcs),
        values_(std::move(values)),
        missing_(coefficients.begin(), coefficients.end()) {
    times_.assign(arcs.size(), 0);
    out_.resize(values_.size());
    in_.resize(values_.size());
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      out_[at(arcs[a].from)].push_back(a);
      in_[at(arcs[a].to)].push_back(a);
    }
  }

  FlowOptimum run() {
    for (std::size_t node = 0; node < missing_.size(); ++node)
      while (missing_[node] < 0) augment(static_cast<int>(node));
    FlowOptimum optimum{0, std::move(values_), std::move(times_)};
    for (std::size_t a = 0; a < arcs_.size(); ++a)
      optimum.sum += optimum.times[a] * arcs_[a].weight;
    return optimum;
  }

 private:
  Cycle slack(std::size_t a) const {
    return values_[at(arcs_[a].to)] - values_[at(arcs_[a].from)] - arcs_[a].weight;
  }

  // One unit from `source` to the nearest node that lacks one.
  void augment(int source) {
    constexpr Cycle kFar = std::numeric_limits<Cycle>::max();
    std::vector<Cycle> distance(values_.size(), kFar);
    std::vector<std::pair<std::size_t, bool>> by(values_.size());  // arc, and is it taken forward?
    std::vector<char> done(values_.size(), 0);
    using Entry = std::pair<Cycle, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    distance[at(source)] = 0;
    queue.emplace(0, source);
    int sink = -1;
    while (!queue.empty() && sink < 0) {
      const auto [here, node] = queue.top();
      queue.pop();
      if (done[at(node)]) continue;
      done[at(node)] = 1;
      if (missing_[at(node)] > 0) {
        sink = node;
        break;
      }
      const auto reach = [&](int next, Cycle length, std::size_t arc, bool forward) {
        if (here + length >= distance[at(next)]) return;
        distance[at(next)] = here + length;
        by[at(next)] = {arc, forward};
        queue.emplace(here + length, next);
      };
      for (const std::size_t a : out_[at(node)]) reach(arcs_[a].to, slack(a), a, true);
      for (const std::size_t a : in_[at(node)])
        if (times_[a] > 0) reach(arcs_[a].from, -slack(a), a, false);
    }
    if (sink < 0) throw std::logic_error("a sum of differences without a bound");
    // Nodes nearer than the sink fall by what they are nearer: no slack falls below 0, and those on
    // the path are 0.
    const Cycle far = distance[at(sink)];
    for (std::size_t node = 0; node < values_.size(); ++node)
      values_[node] -= done[node] ? distance[node] : far;
    for (int node = sink; node != source;) {
      const auto [arc, forward] = by[at(node)];
      times_[arc] += forward ? 1 : -1;
      node = forward ? arcs_[arc].from : arcs_[arc].to;
    }
    ++missing_[at(source)];
    --missing_[at(sink)];
  }

  std::span<const FlowArc> arcs_;
  std::vector<Cycle> values_;
  std::vector<int> missing_;
  std::vector<int> times_;
  std::vector<std::vector<std::size_t>> out_, in_;
};

}  // namespace

FlowOptimum least_weighted_sum(std::span<const FlowArc> arcs, std::span<const int> coefficients,
                               std::vector<Cycle> values) {
  return Flow(arcs, coefficients, std::move(values)).run();
}

}  // namespace twill
