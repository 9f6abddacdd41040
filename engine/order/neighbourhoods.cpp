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

Neighbourhoods::Neighbourhoods(const Problem& problem, std::uint64_t seed)
    : problem_(problem), random_(seed) {
  size_ = static_cast<int>(problem.ops.size()) / kFirstShare;
  resize(0);
}

void Neighbourhoods::resize(int by) {
  const int ops = static_cast<int>(problem_.ops.size());
  size_ = std::clamp(size_ + by, std::min(kFewestFree, ops), ops);
}

void Neighbourhoods::around(const Schedule& schedule) {
  schedule_ = schedule;
  critical_ops_.clear();
  if (const auto recurrence = critical_recurrence(problem_, schedule))
    for (const CriticalRecurrence::Step& step : recurrence->steps)
      critical_ops_.insert(critical_ops_.end(), {step.from, step.to});
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
