#include "graph/program/fit.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "graph/divide.hpp"

namespace twill::program {
namespace {

/// Blocks of one base, as one.
struct Group {
  Block block;
  std::vector<std::size_t> blocks;
};

class Search {
 public:
  Search(const std::vector<Block>& blocks, const std::vector<Meet>& meet, Amount capacity,
         std::int64_t steps)
      : capacity_(capacity), steps_(steps) {
    gather(blocks, meet);
    const std::size_t n = groups_.size();
    meet_.assign(n * n, Meet::any);
    never_.assign(n, 0);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) {
        Meet& most = meet_[a * n + b];
        for (const std::size_t x : groups_[a].blocks)
          for (const std::size_t y : groups_[b].blocks)
            if (x != y) most = std::min(most, meet[x * blocks.size() + y]);
        // Of one base they must be, and may not.
        if (a == b && most == Meet::never) apart_ = true;
        if (most == Meet::same && groups_[a].block.alignment != groups_[b].block.alignment)
          most = Meet::never;
        if (a != b && most == Meet::never && b < kBits) never_[a] |= std::uint64_t{1} << b;
      }
  }

  Fit run(std::vector<Amount>& bases) {
    const std::size_t n = groups_.size();
    bases_.assign(n, -1);
    Fit fit = Fit::found;
    if (apart_) return Fit::none;
    if (!place(0, 0)) fit = steps_ > 0 ? Fit::none : Fit::unknown;
    if (fit != Fit::found) return fit;
    for (std::size_t g = 0; g < n; ++g)
      for (const std::size_t block : groups_[g].blocks) bases[block] = bases_[g];
    return fit;
  }

 private:
  /// Groups by what must share a base, the largest first.
  void gather(const std::vector<Block>& blocks, const std::vector<Meet>& meet) {
    const std::size_t n = blocks.size();
    std::vector<std::size_t> root(n);
    std::iota(root.begin(), root.end(), std::size_t{0});
    for (std::size_t round = 0; round < n; ++round)
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
          if (a != b && meet[a * n + b] == Meet::must)
            root[a] = root[b] = std::min(root[a], root[b]);
    for (std::size_t a = 0; a < n; ++a) {
      if (root[a] == a) groups_.push_back({blocks[a], {}});
      for (Group& group : groups_)
        if (group.blocks.empty() ? root[a] == a : root[group.blocks.front()] == root[a]) {
          group.blocks.push_back(a);
          break;
        }
    }
    std::stable_sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
      return a.block.extent > b.block.extent;
    });
  }

  Meet meet(std::size_t a, std::size_t b) const { return meet_[a * groups_.size() + b]; }
  Amount end(std::size_t g) const { return bases_[g] + groups_[g].block.extent; }

  /// The most that groups take of which no two may meet, of those in `left` (a bit each).
  Amount clique(std::uint64_t left) {
    if (left == 0) return 0;
    const auto known = cliques_.find(left);
    if (known != cliques_.end()) return known->second;
    const auto first = static_cast<std::size_t>(std::countr_zero(left));
    const std::uint64_t others = left & (left - 1);
    const Amount with = groups_[first].block.extent + clique(others & never_[first]);
    const Amount most = cliques_.size() < kMostCliques ? std::max(with, clique(others)) : with;
    if (cliques_.size() < kMostCliques) cliques_.emplace(left, most);
    return most;
  }

  bool allowed(std::size_t g, Amount base) const {
    const Amount last = base + groups_[g].block.extent;
    if (capacity_ >= 0 && last > capacity_) return false;
    for (std::size_t p = 0; p < groups_.size(); ++p) {
      if (bases_[p] < 0 || base >= end(p) || bases_[p] >= last) continue;
      const Meet how = meet(g, p);
      if (how == Meet::never || (how == Meet::same && bases_[p] != base)) return false;
    }
    return true;
  }

  /// The next of the groups that are left, none below `least`.
  bool place(std::size_t placed, Amount least) {
    const std::size_t n = groups_.size();
    if (placed == n) return true;
    if (capacity_ >= 0) {
      std::uint64_t left = 0;
      for (std::size_t g = 0; g < n; ++g) {
        if (bases_[g] >= 0) continue;
        if (least + groups_[g].block.extent > capacity_) return false;
        if (g < kBits) left |= std::uint64_t{1} << g;
      }
      if (least + clique(left) > capacity_) return false;
    }
    for (std::size_t g = 0; g < n; ++g) {
      if (bases_[g] >= 0 || twin_before(g)) continue;
      std::vector<Amount> places = {0};
      for (std::size_t p = 0; p < n; ++p)
        if (bases_[p] >= 0) {
          places.push_back(bases_[p]);
          places.push_back(end(p));
        }
      for (Amount& base : places)
        base = ceil_divide(base, groups_[g].block.alignment) * groups_[g].block.alignment;
      std::sort(places.begin(), places.end());
      places.erase(std::unique(places.begin(), places.end()), places.end());
      for (const Amount base : places) {
        if (base < least) continue;
        if (--steps_ <= 0) return false;
        if (!allowed(g, base)) continue;
        bases_[g] = base;
        if (place(placed + 1, base)) return true;
        bases_[g] = -1;
        if (steps_ <= 0) return false;
      }
    }
    return false;
  }

  /// Of blocks that nothing tells apart the first that is left goes first.
  bool twin_before(std::size_t g) const {
    for (std::size_t h = 0; h < g; ++h) {
      if (bases_[h] >= 0 || !(groups_[h].block == groups_[g].block)) continue;
      bool alike = true;
      for (std::size_t p = 0; p < groups_.size() && alike; ++p)
        alike = p == g || p == h || meet(g, p) == meet(h, p);
      if (alike) return true;
    }
    return false;
  }

  Amount capacity_;
  std::int64_t steps_;
  static constexpr std::size_t kBits = 64, kMostCliques = 100'000;
  std::vector<std::uint64_t> never_;  ///< per group, those of the first 64 that it may not meet
  std::unordered_map<std::uint64_t, Amount> cliques_;
  bool apart_ = false;
  std::vector<Group> groups_;
  std::vector<Meet> meet_;
  std::vector<Amount> bases_;
};

}  // namespace

Fit fit(const std::vector<Block>& blocks, const std::vector<Meet>& meet, Amount capacity,
        std::int64_t steps, std::vector<Amount>& bases) {
  bases.assign(blocks.size(), 0);
  return Search(blocks, meet, capacity, steps).run(bases);
}

}  // namespace twill::program
