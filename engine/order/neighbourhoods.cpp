#include "engine/order/neighbourhoods.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "graph/bounds/tighten.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"

namespace twill::order {
namespace {

constexpr int kFirstShare = 3;  // of the ops: one in so many
constexpr int kFewestFree = 4;

}  // namespace

Neighbourhoods::Neighbourhoods(const Problem& problem, std::uint64_t seed, Aim aim)
    : problem_(problem), random_(seed), aim_(aim) {
  size_ = static_cast<int>(problem.ops.size()) / kFirstShare;
  resize(0);
}

void Neighbourhoods::resize(int by) {
  const int ops = static_cast<int>(problem_.ops.size());
  size_ = std::clamp(size_ + by, std::min(kFewestFree, ops), ops);
}

void Neighbourhoods::find_critical() {
  if (const auto recurrence = critical_recurrence(problem_, schedule_))
    for (const CriticalRecurrence::Step& step : recurrence->steps)
      critical_ops_.insert(critical_ops_.end(), {step.from, step.to});
}

// From the ops that end last back to those that they cannot start before: where a dependence has no
// slack, or where one begins, in some iteration, as the other ends on its unit or slot.
void Neighbourhoods::find_long() {
  const std::vector<Op>& ops = problem_.ops;
  const auto& start = schedule_.start;
  const Cycle ii = schedule_.initiation_interval;
  std::vector<char> seen(ops.size(), 0);
  const auto reach = [&](int op) {
    if (std::exchange(seen[at(op)], 1) == 0) critical_ops_.push_back(op);
  };
  const auto shares = [&](int u, int v) {
    if (schedule_.warp[at(u)] == schedule_.warp[at(v)] &&
        mod(start[at(v)] - start[at(u)], ii) == ops[at(u)].cycles % ii)
      return true;
    for (const Reservation& a : ops[at(u)].reservations)
      for (const Reservation& b : ops[at(v)].reservations)
        if (a.unit == b.unit &&
            mod(start[at(v)] + b.offset - start[at(u)] - a.offset - a.length, ii) == 0)
          return true;
    return false;
  };
  const int count = static_cast<int>(ops.size());
  for (int v = 0; v < count; ++v)
    if (start[at(v)] + ops[at(v)].cycles == schedule_.length) reach(v);
  for (std::size_t next = 0; next < critical_ops_.size(); ++next) {
    const int v = critical_ops_[next];
    for (const Edge& e : problem_.edges) {
      if (e.to != v) continue;
      const Cycle spare = start[at(v)] + e.distance * ii - start[at(e.from)] - e.delay;
      if (spare == 0 ||
          (schedule_.warp[at(e.from)] != schedule_.warp[at(v)] && spare == spill_of(problem_, e)))
        reach(e.from);
    }
    for (int u = 0; u < count; ++u)
      if (u != v && start[at(v)] >= ops[at(u)].cycles && shares(u, v)) reach(u);
  }
}

void Neighbourhoods::around(const Schedule& schedule) {
  schedule_ = schedule;
  critical_ops_.clear();
  if (aim_ == Aim::length)
    find_long();
  else
    find_critical();
  if (critical_ops_.empty())
    for (int v = 0; v < static_cast<int>(problem_.ops.size()); ++v) critical_ops_.push_back(v);
  std::sort(critical_ops_.begin(), critical_ops_.end());
  critical_ops_.erase(std::unique(critical_ops_.begin(), critical_ops_.end()), critical_ops_.end());
}

double Neighbourhoods::distance(Kind kind, int op, int centre) {
  const Cycle ii = schedule_.initiation_interval;
  const auto critical_op = [&] {
    return std::binary_search(critical_ops_.begin(), critical_ops_.end(), op);
  };
  const auto adjacent = [&](const Edge& e) {
    return (e.from == op && e.to == centre) || (e.to == op && e.from == centre);
  };
  switch (kind) {
    case critical: return chance() - (critical_op() ? 1 : 0);
    case at_a_time: {
      const Cycle later = mod(schedule_.start[at(op)] - schedule_.start[at(centre)], ii);
      const Cycle apart = std::min(later, ii - later);
      return 0.3 * chance() + static_cast<double>(apart) / static_cast<double>(ii);
    }
    case connected:
      return chance() -
             (std::any_of(problem_.edges.begin(), problem_.edges.end(), adjacent) ? 1 : 0) -
             (schedule_.warp[at(op)] == schedule_.warp[at(centre)] ? 0.5 : 0);
  }
  return 0;
}

std::vector<char> Neighbourhoods::next() {
  assert(!critical_ops_.empty());  // around() has been called
  const Kind kind =
      std::array{critical, at_a_time, connected}[static_cast<std::size_t>(round_++ % 3)];
  const auto last = static_cast<std::int64_t>(critical_ops_.size()) - 1;
  const int centre = critical_ops_[static_cast<std::size_t>(random_.range(0, last))];
  const int ops = static_cast<int>(problem_.ops.size());
  std::vector<std::pair<double, int>> near;
  for (int v = 0; v < ops; ++v)
    if (v != centre) near.emplace_back(distance(kind, v, centre), v);
  std::sort(near.begin(), near.end());
  std::vector<char> free(at(ops), 0);
  free[at(centre)] = 1;
  for (int i = 0; i + 1 < size_; ++i) free[at(near[at(i)].second)] = 1;
  return free;
}

}  // namespace twill::order
