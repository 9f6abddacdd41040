#include "graph/list_scheduling/list_order.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "graph/index.hpp"
#include "graph/loop.hpp"

namespace twill {
namespace {

// The longest ways to and from every op, over edges within an iteration.
struct Ways {
  std::vector<Cycle> to, from;
};

Ways longest_ways(const Problem& problem) {
  const std::size_t ops = problem.ops.size();
  Ways ways{std::vector<Cycle>(ops, 0), std::vector<Cycle>(ops, 0)};
  std::vector<std::vector<const Edge*>> out(ops);
  for (const Edge& e : problem.edges)
    if (e.distance == 0) out[at(e.from)].push_back(&e);
  const std::vector<int> order = topological_order(problem);
  for (const int v : order)
    for (const Edge* e : out[at(v)])
      ways.to[at(e->to)] = std::max(ways.to[at(e->to)], ways.to[at(v)] + e->delay);
  for (auto v = order.rbegin(); v != order.rend(); ++v) {
    ways.from[at(*v)] = problem.ops[at(*v)].cycles;
    for (const Edge* e : out[at(*v)])
      ways.from[at(*v)] = std::max(ways.from[at(*v)], ways.from[at(e->to)] + e->delay);
  }
  return ways;
}

class SwingOrder {
 public:
  explicit SwingOrder(const Problem& problem)
      : ways_(longest_ways(problem)),
        before_(problem.ops.size()),
        behind_(problem.ops.size()),
        taken_(problem.ops.size(), 0),
        in_(problem.ops.size(), 0) {
    for (const Edge& e : problem.edges)
      if (e.from != e.to) {
        behind_[at(e.from)].push_back(e.to);
        before_[at(e.to)].push_back(e.from);
      }
  }

  void add(const std::vector<int>& ops) {
    std::fill(in_.begin(), in_.end(), 0);
    for (const int v : ops) in_[at(v)] = 1;
    for (;;) {
      // What is beside the order so far, else the op that begins the longest way.
      bool down = true;
      std::vector<int> ready = beside(ops, before_);
      if (ready.empty()) {
        down = false;
        ready = beside(ops, behind_);
      }
      if (ready.empty()) {
        down = true;
        int first = -1;
        for (const int v : ops)
          if (taken_[at(v)] == 0 && (first < 0 || key(v, true) > key(first, true))) first = v;
        if (first < 0) return;
        ready = {first};
      }
      for (; !ready.empty(); down = !down) {
        sweep(ready, down);
        ready = beside(ops, down ? behind_ : before_);
      }
    }
  }

  std::vector<int> take() { return std::move(order_); }

 private:
  // Which of several comes first: the largest.
  std::tuple<Cycle, Cycle, int> key(int v, bool down) const {
    const Cycle ahead = down ? ways_.from[at(v)] : ways_.to[at(v)];
    const Cycle slack = -(ways_.from[at(v)] + ways_.to[at(v)]);
    return {ahead, -slack, -v};
  }

  // The ops of the set that have one of the order among their neighbours.
  std::vector<int> beside(const std::vector<int>& ops,
                          const std::vector<std::vector<int>>& neighbours) const {
    std::vector<int> found;
    for (const int v : ops)
      if (taken_[at(v)] == 0 && std::any_of(neighbours[at(v)].begin(), neighbours[at(v)].end(),
                                            [&](int u) { return taken_[at(u)] != 0; }))
        found.push_back(v);
    return found;
  }

  // All that can be reached from `ready`, downward or upward.
  void sweep(std::vector<int> ready, bool down) {
    const auto& onward = down ? behind_ : before_;
    while (!ready.empty()) {
      const auto next = std::max_element(ready.begin(), ready.end(),
                                         [&](int a, int b) { return key(a, down) < key(b, down); });
      const int v = *next;
      ready.erase(next);
      if (taken_[at(v)] != 0) continue;
      taken_[at(v)] = 1;
      order_.push_back(v);
      for (const int u : onward[at(v)])
        if (in_[at(u)] != 0 && taken_[at(u)] == 0) ready.push_back(u);
    }
  }

  Ways ways_;
  std::vector<std::vector<int>> before_, behind_;
  std::vector<char> taken_, in_;
  std::vector<int> order_;
};

// The least I at which a component has no positive cycle.
Cycle recurrence_bound(const Problem& problem, const std::vector<int>& component, int which,
                       Cycle most) {
  Problem part;
  part.ops = problem.ops;
  for (const Edge& e : problem.edges)
    if (component[at(e.from)] == which && component[at(e.to)] == which) part.edges.push_back(e);
  Cycle low = 1, high = most;
  while (low < high) {
    const Cycle middle = low + (high - low) / 2;
    if (positive_cycle(part, middle).empty())
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace

std::vector<int> swing_order(const Problem& problem, Cycle ii) {
  const Components components = strongly_connected_components(problem);
  std::map<int, std::vector<int>> members;
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    members[components.of[at(v)]].push_back(v);
  std::vector<std::tuple<Cycle, int>> cycles;  // tightest first
  for (const auto& [which, ops] : members)
    if (ops.size() > 1)
      cycles.emplace_back(-recurrence_bound(problem, components.of, which, ii), which);
  std::sort(cycles.begin(), cycles.end());
  SwingOrder order(problem);
  for (const auto& [bound, which] : cycles) order.add(members[which]);
  std::vector<int> all(problem.ops.size());
  for (int v = 0; v < static_cast<int>(all.size()); ++v) all[at(v)] = v;
  order.add(all);
  return order.take();
}

std::vector<int> height_order(const Problem& problem) {
  const Ways ways = longest_ways(problem);
  std::vector<int> missing(problem.ops.size(), 0), order, ready;
  std::vector<std::vector<int>> out(problem.ops.size());
  for (const Edge& e : problem.edges)
    if (e.distance == 0) {
      ++missing[at(e.to)];
      out[at(e.from)].push_back(e.to);
    }
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    if (missing[at(v)] == 0) ready.push_back(v);
  while (!ready.empty()) {
    const auto next = std::max_element(ready.begin(), ready.end(), [&](int a, int b) {
      return std::pair(ways.from[at(a)], -a) < std::pair(ways.from[at(b)], -b);
    });
    const int v = *next;
    ready.erase(next);
    order.push_back(v);
    for (const int u : out[at(v)])
      if (--missing[at(u)] == 0) ready.push_back(u);
  }
  return order;
}

}  // namespace twill
