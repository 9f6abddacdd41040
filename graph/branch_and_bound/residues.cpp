#include "graph/branch_and_bound/residues.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "graph/bounds/bounds.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

/// All sums of sub-multisets, ascending; nullopt when they are too many to be of use.
std::optional<std::vector<Cycle>> subset_sums(const std::vector<Cycle>& lengths) {
  constexpr std::size_t kMost = 2000;
  std::vector<Cycle> sums{0};
  for (const Cycle length : lengths) {
    std::vector<Cycle> shifted = sums, merged;
    for (Cycle& s : shifted) s += length;
    std::set_union(sums.begin(), sums.end(), shifted.begin(), shifted.end(),
                   std::back_inserter(merged));
    if (merged.size() > kMost) return std::nullopt;
    sums = std::move(merged);
  }
  return sums;
}

}  // namespace

ResidueSet::ResidueSet(Cycle modulus) : modulus_(modulus), intervals_{{0, modulus - 1}} {}

bool ResidueSet::full() const {
  return intervals_.size() == 1 && intervals_[0] == Interval{0, modulus_ - 1};
}

void ResidueSet::remove(Cycle first, Cycle last) {
  if (last < first) return;
  if (last - first + 1 >= modulus_) {
    intervals_.clear();
    return;
  }
  const Cycle low = mod(first, modulus_), high = low + (last - first);
  const auto cut = [this](Cycle from, Cycle to) {
    std::vector<Interval> rest;
    for (const auto& [a, b] : intervals_) {
      if (a < from) rest.emplace_back(a, std::min(b, from - 1));
      if (b > to) rest.emplace_back(std::max(a, to + 1), b);
    }
    intervals_ = std::move(rest);
  };
  cut(low, std::min(high, modulus_ - 1));
  if (high >= modulus_) cut(0, high - modulus_);
}

void ResidueSet::keep(const std::vector<Interval>& intervals) {
  std::vector<Interval> folded;  // onto the circle
  for (const auto& [a, b] : intervals) {
    if (b - a + 1 >= modulus_) return;
    const Cycle low = mod(a, modulus_), high = low + (b - a);
    folded.emplace_back(low, std::min(high, modulus_ - 1));
    if (high >= modulus_) folded.emplace_back(0, high - modulus_);
  }
  std::sort(folded.begin(), folded.end());
  std::vector<Interval> both;
  auto mine = intervals_.begin();
  Cycle done = 0;  // everything below has been decided
  for (const auto& [from, to] : folded) {
    const Cycle first = std::max(from, done);
    while (mine != intervals_.end() && mine->second < first) ++mine;
    for (auto i = mine; i != intervals_.end() && i->first <= to; ++i)
      both.emplace_back(std::max(i->first, first), std::min(i->second, to));
    done = std::max(done, to + 1);
    if (!both.empty() && both.back().second < both.back().first) both.pop_back();
  }
  intervals_ = std::move(both);
}

bool ResidueSet::contains(Cycle x) const {
  return !empty() && at_least(x) == x;
}

Cycle ResidueSet::at_least(Cycle x) const {
  assert(!empty());
  const Cycle r = mod(x, modulus_);
  const auto it = std::lower_bound(intervals_.begin(), intervals_.end(), r,
                                   [](const Interval& i, Cycle y) { return i.second < y; });
  if (it == intervals_.end()) return x - r + modulus_ + intervals_.front().first;
  return x - r + std::max(r, it->first);
}

Cycle ResidueSet::at_most(Cycle x) const {
  assert(!empty());
  const Cycle r = mod(x, modulus_);
  const auto it = std::upper_bound(intervals_.begin(), intervals_.end(), r,
                                   [](Cycle y, const Interval& i) { return y < i.first; });
  if (it == intervals_.begin()) return x - r - modulus_ + intervals_.back().second;
  return x - r + std::min(r, std::prev(it)->second);
}

IssueDistances::IssueDistances(const Problem& problem, Cycle ii) : problem_(problem), ii_(ii) {
  const int ops = static_cast<int>(problem.ops.size());
  const int units = static_cast<int>(problem.units.size());
  for (int v = 0; v < ops; ++v) {
    infeasible_ = infeasible_ || !reservation_fits(problem, v, ii);
    for (int f = 0; f < units; ++f) loads_.push_back(load(v, f));
  }
  for (int f = 0; f < units; ++f) {
    const Amount capacity = problem.units[at(f)].capacity;
    bool exclusive = true;
    std::vector<Cycle> lengths;
    Cycle idle = ii;
    for (const Op& op : problem.ops)
      for (const Reservation& r : op.reservations) {
        if (r.unit != f) continue;
        exclusive = exclusive && r.amount > capacity / 2;
        lengths.push_back(r.length);
        idle -= r.length;
      }
    infeasible_ = infeasible_ || (exclusive && idle < 0);
    exclusive_.push_back(exclusive);
    lengths_.push_back(std::move(lengths));
    idle_.push_back(idle);
  }
}

std::vector<IssueDistances::Piece> IssueDistances::load(int op, int unit) const {
  // Loads change only where a segment begins or ends on the circle.
  std::vector<Cycle> cuts;
  for (const Reservation& r : problem_.ops[at(op)].reservations)
    if (r.unit == unit) {
      cuts.push_back(r.offset % ii_);
      cuts.push_back((r.offset + r.length) % ii_);
    }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const Cycle next = i + 1 < cuts.size() ? cuts[i + 1] : cuts.front() + ii_;
    Wide amount = 0;
    for (const Reservation& r : problem_.ops[at(op)].reservations)
      if (r.unit == unit)
        amount += Wide{r.amount} *
                  (r.length / ii_ + (mod(cuts[i] - r.offset, ii_) < r.length % ii_ ? 1 : 0));
    // More than the capacity is as bad as any other excess.
    amount = std::min(amount, Wide{2} * kMaxAmount);
    if (amount > 0) pieces.push_back({cuts[i], next - cuts[i], static_cast<Amount>(amount)});
  }
  return pieces;
}

void IssueDistances::narrow(int u, int v, int unit, ResidueSet& set) {
  for (const Reservation& a : problem_.ops[at(u)].reservations) {
    if (a.unit != unit) continue;
    for (const Reservation& b : problem_.ops[at(v)].reservations) {
      if (b.unit != unit) continue;
      const auto [found, fresh] =
          sums_.try_emplace({unit, std::min(a.length, b.length), std::max(a.length, b.length)});
      auto& sums = found->second;
      if (fresh) {
        std::vector<Cycle> others = lengths_[at(unit)];
        others.erase(std::find(others.begin(), others.end(), a.length));
        others.erase(std::find(others.begin(), others.end(), b.length));
        sums = subset_sums(others);
      }
      if (!sums) continue;
      // From a's start to b's start: a itself, some others, and idle time.
      std::vector<ResidueSet::Interval> distances;
      for (const Cycle s : *sums) {
        const Cycle first = a.offset - b.offset + a.length + s;
        distances.emplace_back(first, first + idle_[at(unit)]);
      }
      set.keep(distances);
    }
  }
}

std::optional<ResidueSet> IssueDistances::of(int u, int v) {
  ResidueSet set(ii_);
  const std::size_t units = problem_.units.size();
  for (std::size_t f = 0; f < units; ++f) {
    const auto& first = loads_[at(u) * units + f];
    const auto& second = loads_[at(v) * units + f];
    for (const Piece& p : first)
      for (const Piece& q : second)
        if (p.amount + q.amount > problem_.units[f].capacity)
          set.remove(p.begin - q.begin - q.length + 1, p.begin - q.begin + p.length - 1);
    if (exclusive_[f] && !infeasible_ && !first.empty() && !second.empty())
      narrow(u, v, static_cast<int>(f), set);
  }
  if (set.full()) return std::nullopt;
  return set;
}

}  // namespace twill
