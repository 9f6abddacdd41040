#include "graph/branch_and_bound/modulo_instance.hpp"

#include <cassert>

#include "graph/accepted.hpp"
#include "graph/loop.hpp"

namespace twill::modulo {

Instance::Instance(const Problem& problem, Cycle ii) : problem_(problem), ii_(ii) {
  assert(ii >= 1 && consistent(problem));
  const auto earliest = earliest_starts(problem, ii);
  IssueDistances distances(problem, ii);
  if (!earliest || distances.infeasible()) return;
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    if (!problem.ops[at(v)].reservations.empty()) ops_.push_back(v);
  const int n = size();
  path_ = std::make_unique<DifferenceMatrix>(n + 2, kUnreachable);
  const auto tail = [&](const std::vector<Cycle>& start) {
    Cycle longest = 0;
    for (std::size_t v = 0; v < start.size(); ++v)
      if (start[v] != kUnreachable) longest = std::max(longest, start[v] + problem.ops[v].cycles);
    return longest;
  };
  for (int x = 0; x < n; ++x) {
    const std::vector<Cycle> from = longest_paths_from(problem, ops_[at(x)], ii);
    for (int y = 0; y < n; ++y) path_->set(x, y, from[at(ops_[at(y)])]);
    path_->set(x, sink(), tail(from));
    path_->set(origin(), x, (*earliest)[at(ops_[at(x)])]);
  }
  path_->set(origin(), origin(), 0);
  path_->set(sink(), sink(), 0);
  path_->set(origin(), sink(), tail(*earliest));
  pairs_.resize(at(n) * at(n));
  for (int x = 0; x < n; ++x) {
    for (int y = x + 1; y < n; ++y) {
      auto& set = pairs_[at(x) * at(n) + at(y)];
      set = distances.of(ops_[at(x)], ops_[at(y)]);
      if (set && set->empty()) return;
    }
  }
  for (int f = 0; f < static_cast<int>(problem.units.size()); ++f)
    if (distances.shared(f)) shared_.push_back(f);
  feasible_ = true;
}

DifferenceMatrix Instance::matrix(Cycle deadline) const {
  assert(feasible() && shortest() <= deadline);
  DifferenceMatrix closed = *path_;
  for (int x = 0; x < size() + 2; ++x) {
    for (int y = 0; y < size() + 2; ++y) {
      const Cycle around = (*path_)(x, sink()) - deadline + (*path_)(origin(), y);
      closed.set(x, y, x == y ? 0 : std::max((*path_)(x, y), around));
    }
    if (x != origin()) closed.set(x, origin(), (*path_)(x, sink()) - deadline);
  }
  for (int y = 0; y < size(); ++y) closed.set(sink(), y, (*path_)(origin(), y) - deadline);
  return closed;
}

}  // namespace twill::modulo
