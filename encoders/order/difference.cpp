// One variable an atom, no clauses: what atoms mean is the difference-logic solver's business
// (engine/order) or that of lemmas, each a positive cycle of atoms and facts.
#include "encoders/order/difference.hpp"

#include <cstdint>
#include <numeric>
#include <utility>

#include "graph/index.hpp"

namespace twill {

std::size_t Differences::Hash::operator()(const Difference& d) const {
  std::uint64_t hash = 0;
  for (const Cycle part :
       {Cycle{d.from}, Cycle{d.to}, d.weight, d.turns, 2 * Cycle{d.deadlines} + d.halves})
    hash = (hash + static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

namespace {

std::vector<int> each_alone(int ops) {
  std::vector<int> leaders(at(ops));
  std::iota(leaders.begin(), leaders.end(), 0);
  return leaders;
}

}  // namespace

Differences::Differences(Formula& f, int ops, Cycle ii_low, Cycle ii_high, bool stages)
    : Differences(f, each_alone(ops), ii_low, ii_high, stages) {}

Differences::Differences(Formula& f, const std::vector<int>& leaders, Cycle ii_low, Cycle ii_high,
                         bool stages)
    : f_(f), node_(leaders.size(), 0), stages_(stages), ii_low_(ii_low), ii_high_(ii_high) {
  for (std::size_t v = 0; v < leaders.size(); ++v)
    if (at(leaders[v]) == v) node_[v] = ++starts_;
  for (std::size_t v = 0; v < leaders.size(); ++v) node_[v] = node_[at(leaders[v])];
  nodes_ = 1 + (stages ? 2 : 1) * starts_;
  for (int row = 1; row <= starts_; ++row) {
    fact({0, row, 0, 0});
    fact({row, 0, 1, -1});  // at most I - 1
  }
}

void Differences::fact(const Difference& difference) {
  facts_.push_back(difference);
  known_.insert_or_assign(difference, kTrueLit);
}

void Differences::sum(DifferenceSum sum) {
  fact(sum.difference);
  if (!sum.terms.empty()) sums_.push_back(std::move(sum));
}

Lit Differences::atom(const Difference& difference) {
  f_.tick();
  if (is_stage(difference.from) && difference.from == difference.to)
    return Lit::constant(difference.weight <= 0);
  // Both tests are linear in I, so the ends of the range decide. A node's distance to itself is 0,
  // the origin is 0 and never after an op, other pairs of rows are less than I apart.
  const bool stages = is_stage(difference.from) || is_stage(difference.to);
  if (!stages && difference.deadlines == 0) {
    const auto [lowest, highest] = [&]() -> std::pair<Cycle, Cycle> {
      if (difference.from == difference.to) return {0, 0};
      if (difference.from == 0) return {0, 1};
      if (difference.to == 0) return {-1, 0};
      return {-1, 1};
    }();  // in units of I - 1
    bool always = true, never = true;
    for (const Cycle ii : {ii_low_, ii_high_}) {
      const Cycle right = difference.at(ii, 0);
      always = always && right <= lowest * (ii - 1);
      never = never && right > highest * (ii - 1);
    }
    if (always) return kTrueLit;
    if (never) return kFalseLit;
  }
  const auto [place, fresh] = known_.emplace(difference, kFalseLit);
  if (fresh) {
    place->second = f_.fresh();
    atoms_.push_back({difference, place->second.dimacs()});
  }
  return place->second;
}

}  // namespace twill
