#include "graph/branch_and_bound/modulo_node.hpp"

#include <algorithm>

namespace twill::modulo {

Node::Node(const Instance& instance, Cycle deadline)
    : instance_(instance),
      matrix_(instance.matrix(deadline)),
      queued_(at(matrix_.nodes()) * at(matrix_.nodes()), false) {}

bool Node::propagate_all() {
  for (int x = 0; x < instance_.size(); ++x)
    for (int y = 0; y < instance_.size(); ++y) enqueue(x, y);
  return propagate();
}

bool Node::decide(const Decision& d) {
  if (!matrix_.insert(d.from, d.to, d.gap, [this](int x, int y) { enqueue(x, y); })) return false;
  return propagate();
}

void Node::enqueue(int x, int y) {
  if (!instance_.constrained(x, y)) return;
  const std::size_t key = at(x) * at(matrix_.nodes()) + at(y);
  if (queued_[key]) return;
  queued_[key] = true;
  queue_.emplace_back(x, y);
}

bool Node::propagate() {
  bool ok = true;
  for (std::size_t next = 0; next < queue_.size(); ++next) {
    const auto [x, y] = queue_[next];
    queued_[at(x) * at(matrix_.nodes()) + at(y)] = false;
    if (!ok) continue;  // only empties the queue
    const Cycle bound = matrix_(x, y), rounded = instance_.round_up(x, y, bound);
    if (rounded > bound)
      ok = matrix_.insert(x, y, rounded, [this](int a, int b) { enqueue(a, b); });
  }
  queue_.clear();
  return ok && !overloaded();
}

bool Node::overloaded() {
  for (std::size_t f = 0; f < instance_.problem().units.size(); ++f) {
    const Wide capacity = instance_.problem().units[f].capacity;
    windows_.clear();
    for (int x = 0; x < instance_.size(); ++x) {
      const Cycle first = start(x), last = -matrix_(x, instance_.origin());
      for (const Reservation& r : instance_.problem().ops[at(instance_.op(x))].reservations)
        if (at(r.unit) == f)
          windows_.push_back(
              {first + r.offset, last + r.offset + r.length, Wide{r.amount} * r.length});
    }
    std::sort(windows_.begin(), windows_.end(),
              [](const Window& a, const Window& b) { return a.end < b.end; });
    for (const Window& from : windows_) {
      Wide area = 0;
      for (const Window& w : windows_) {
        if (w.end - from.begin > instance_.ii()) break;
        if (w.begin < from.begin) continue;
        area += w.area;
        if (area > capacity * (w.end - from.begin)) return true;
      }
    }
  }
  return false;
}

}  // namespace twill::modulo
