#include "graph/bounds/difference_flow.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>
#include <queue>
#include <stdexcept>

#include "graph/index.hpp"

namespace twill {

// Shortest distances from `source` over the slacks of arcs, and against arcs with flow, whose slack
// is 0, as far as `sink` or the limit. Values then fall by how much nearer their nodes are than
// that: no slack falls below 0, and those on the path become 0. True = the sink is nearer than the
// limit.
bool DifferenceFlow::reach(int source, int sink, Cycle limit) {
  distance_.assign(values_.size(), limit);
  by_.resize(values_.size());
  done_.assign(values_.size(), 0);
  using Entry = std::pair<Cycle, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  distance_[at(source)] = 0;
  queue.emplace(0, source);
  while (!queue.empty()) {
    const Cycle here = queue.top().first;  // named: clang 14 captures no structured bindings
    const int node = queue.top().second;
    queue.pop();
    if (done_[at(node)]) continue;
    done_[at(node)] = 1;
    if (node == sink) break;
    const auto relax = [&](int next, Cycle length, std::size_t arc, bool forward) {
      if (here + length >= distance_[at(next)]) return;
      distance_[at(next)] = here + length;
      by_[at(next)] = {arc, forward};
      queue.emplace(here + length, next);
    };
    for (const std::size_t a : out_[at(node)]) relax(arcs_[a].arc.to, slack(arcs_[a]), a, true);
    for (const std::size_t a : in_[at(node)])
      if (arcs_[a].times > 0) relax(arcs_[a].arc.from, 0, a, false);
  }
  const Cycle far = done_[at(sink)] ? distance_[at(sink)] : limit;
  if (far == std::numeric_limits<Cycle>::max()) return false;
  for (std::size_t node = 0; node < values_.size(); ++node)
    values_[node] -= done_[node] ? distance_[node] : far;
  return done_[at(sink)] != 0;
}

void DifferenceFlow::change(std::size_t arc, std::int64_t by) {
  arcs_[arc].times += by;
  if (!marks_.empty()) changes_.emplace_back(arc, by);
}

void DifferenceFlow::push(int source, int sink, std::int64_t units) {
  for (int node = sink; node != source;) {
    const auto [arc, forward] = by_[at(node)];
    change(arc, forward ? units : -units);
    node = forward ? arcs_[arc].arc.from : arcs_[arc].arc.to;
  }
}

// Values satisfy every arc, and where there is flow they are as close as the arc allows.
bool DifferenceFlow::consistent() const {
  return std::all_of(arcs_.begin(), arcs_.end(), [&](const Arc& a) {
    return a.times >= 0 && slack(a) >= 0 && (a.times == 0 || slack(a) == 0);
  });
}

bool DifferenceFlow::add(const FlowArc& arc, int name) {
  assert(contradiction_.empty() && sum_ <= most_);
  for (const std::size_t a : out_[at(arc.from)])  // nothing new?
    if (arcs_[a].arc.to == arc.to && arcs_[a].arc.weight >= arc.weight) return true;
  const std::size_t index = arcs_.size();
  arcs_.push_back({arc, name, 0});
  const auto enlist = [&] {
    out_[at(arc.from)].push_back(index);
    in_[at(arc.to)].push_back(index);
  };
  while (slack(arcs_[index]) < 0) {
    if (!reach(arc.to, arc.from, -slack(arcs_[index]))) break;
    const Cycle gain = -slack(arcs_[index]);
    std::int64_t units = most_ / gain + 1;  // enough for any reason
    bool cycle = true;                      // of constraints alone?
    for (int node = arc.from; node != arc.to;) {
      const auto [on, forward] = by_[at(node)];
      if (!forward) units = std::min(units, arcs_[on].times);
      cycle = cycle && forward;
      node = forward ? arcs_[on].arc.from : arcs_[on].arc.to;
    }
    if (cycle) {
      contradiction_ = {{name, units}};
      for (int node = arc.from; node != arc.to; node = arcs_[by_[at(node)].first].arc.from)
        contradiction_.push_back({arcs_[by_[at(node)].first].name, units});
      enlist();
      return false;
    }
    push(arc.to, arc.from, units);
    change(index, units);
    sum_ += units * gain;
    if (sum_ > most_) {
      enlist();
      return false;
    }
  }
  enlist();
  assert(!seldom_.now() || consistent());
  return true;
}

bool DifferenceFlow::count(int from, int to) {
  if (!reach(from, to, std::numeric_limits<Cycle>::max()))
    throw std::logic_error("a sum of differences without a bound");
  push(from, to, 1);
  sum_ += values_[at(to)] - values_[at(from)];
  assert(!seldom_.now() || consistent());
  return sum_ <= most_;
}

std::vector<DifferenceFlow::Step> DifferenceFlow::reason() const {
  if (!contradiction_.empty()) return contradiction_;
  std::vector<Step> steps;
  for (const Arc& a : arcs_)
    if (a.times > 0) steps.push_back({a.name, a.times});
  return steps;
}

void DifferenceFlow::mark() {
  marks_.push_back({values_, arcs_.size(), changes_.size(), sum_});
}

void DifferenceFlow::undo(std::size_t marks) {
  assert(marks < marks_.size());
  const Mark m = std::move(marks_[marks]);
  marks_.resize(marks);
  contradiction_.clear();
  for (; changes_.size() > m.changes; changes_.pop_back())
    arcs_[changes_.back().first].times -= changes_.back().second;
  for (; arcs_.size() > m.arcs; arcs_.pop_back()) {
    out_[at(arcs_.back().arc.from)].pop_back();
    in_[at(arcs_.back().arc.to)].pop_back();
  }
  values_ = m.values;
  sum_ = m.sum;
  assert(!seldom_.now() || consistent());
}

}  // namespace twill
