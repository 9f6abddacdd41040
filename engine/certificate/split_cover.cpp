// *Corners are enough.* Rule 6 alone sees a slot's registers, and only as an upper bound, so what
// is a schedule with some counts is one with larger counts. What is proved of a corner (no schedule
// has I < X; at I = X none has L < Y; none exists) so holds for every split with at most its
// counts.
//
// *Exchange.* Two shares of as many warpgroups, whose slots are in order as wide and of the same
// latency class, differ in nothing but their counts and names when nothing is pinned: rules 5 to 8
// ask for no more of a slot. Moving all ops of each to the other turns a schedule with some counts
// into one with the two counts exchanged, with the same starts. So it is enough to cover splits
// that descend among such shares, by corners that were sorted to descend: if a rearrangement of a
// split is below a corner, so is the sorted split below the sorted corner.
//
// *All splits.* The check looks for a split below no corner, without listing splits. `low` is at
// most the split looked for, at first the least counts of the pool. If no corner is above `low`, it
// is one, or it is no split and nothing above it is. If corner c is, then a split that is at least
// `low` and not below c has more than c somewhere, so the next multiple of the granule there is at
// least as much as it must have: one branch a share. Every branch has counts that are above c, so
// it never meets c again, and the search ends.
#include "engine/certificate/split_cover.hpp"

#include <algorithm>
#include <cassert>
#include <set>

#include "graph/index.hpp"

namespace twill {
namespace {

constexpr Amount kMostRegisters = 1'000'000'000;  // no sum below overflows
constexpr int kMostWarpgroups = 1'000;
constexpr std::size_t kMostCompared = 100'000'000;  // corners: bounds the time of a check

std::string pool_fault(const Problem& problem, const RegisterPool& pool) {
  std::vector<int> seen(problem.warps.size(), 0);
  for (const RegisterPool::Share& share : pool.shares) {
    if (share.slots.empty() || share.warpgroups < 1 || share.warpgroups > kMostWarpgroups)
      return "a share must have slots and from 1 to " + std::to_string(kMostWarpgroups) +
             " warpgroups";
    for (const int w : share.slots) ++seen[at(w)];
  }
  for (std::size_t w = 0; w < seen.size(); ++w)
    if (seen[w] != 1) return "slot " + problem.warps[w].name + " must be in one share";
  for (const Amount value : {pool.granule, pool.min, pool.max, pool.launch, pool.resident})
    if (value < 0 || value > kMostRegisters)
      return "counts must be from 0 to " + std::to_string(kMostRegisters);
  return pool.granule < 1 ? "the granule must be at least 1" : "";
}

bool allowed_counts(const RegisterPool& pool, const RegisterCounts& counts) {
  return counts.size() == pool.shares.size() &&
         std::all_of(counts.begin(), counts.end(),
                     [](Amount count) { return count >= 0 && count <= kMostRegisters; });
}

// Counts in descending order among shares that can change places.
class Descending {
 public:
  explicit Descending(std::vector<std::size_t> first) : first_(std::move(first)) {}

  RegisterCounts sorted(const RegisterCounts& counts) const {
    RegisterCounts result = counts;
    for (std::size_t a = 0; a < result.size(); ++a)
      for (std::size_t b = a + 1; b < result.size(); ++b)
        if (first_[a] == first_[b] && result[a] < result[b]) std::swap(result[a], result[b]);
    return result;
  }
  // The least counts that descend, have `least` at `share` and are at least `counts`.
  RegisterCounts raised(RegisterCounts counts, std::size_t share, Amount least) const {
    for (std::size_t s = 0; s <= share; ++s)
      if (first_[s] == first_[share]) counts[s] = std::max(counts[s], least);
    return counts;
  }

 private:
  std::vector<std::size_t> first_;
};

}  // namespace

Problem problem_at(const Problem& problem, const RegisterSplit* split,
                   const RegisterCounts& counts) {
  return split == nullptr || counts.empty() ? problem : with_counts(problem, split->pool, counts);
}

bool at_most(const RegisterCounts& low, const RegisterCounts& high) {
  return std::equal(low.begin(), low.end(), high.begin(), high.end(),
                    [](Amount a, Amount b) { return a <= b; });
}

std::string counts_text(const Problem& problem, const RegisterPool& pool,
                        const RegisterCounts& counts) {
  std::string text;
  for (std::size_t s = 0; s < counts.size(); ++s)
    text += (s > 0 ? ", " : "") + std::to_string(counts[s]) + " of " +
            share_name(problem, pool.shares[s]);
  return text;
}

std::string split_fault(const Problem& problem, const RegisterSplit& split) {
  std::string fault = pool_fault(problem, split.pool);
  if (!fault.empty()) return fault;
  for (const RegisterCounts& corner : split.corners)
    if (!allowed_counts(split.pool, corner)) return "a corner must have a count for each share";
  if (split.counts.empty()) return "";
  const std::string text = counts_text(problem, split.pool, split.counts);
  if (!allowed_counts(split.pool, split.counts) || !is_split(split.pool, split.counts))
    return text + " is no split of the pool";
  if (with_counts(problem, split.pool, split.counts) != problem)
    return "the problem's slots do not have the registers of " + text;
  return "";
}

std::vector<std::size_t> exchangeable_shares(const Problem& problem, const RegisterPool& pool,
                                             bool pinned) {
  const auto alike = [&](const RegisterPool::Share& a, const RegisterPool::Share& b) {
    if (a.warpgroups != b.warpgroups || a.slots.size() != b.slots.size()) return false;
    for (std::size_t i = 0; i < a.slots.size(); ++i) {
      const WarpSlot &x = problem.warps[at(a.slots[i])], &y = problem.warps[at(b.slots[i])];
      if (x.width != y.width || x.variable_latency != y.variable_latency) return false;
    }
    return true;
  };
  std::vector<std::size_t> first(pool.shares.size());
  for (std::size_t s = 0; s < first.size(); ++s)
    for (first[s] = pinned ? s : 0; !alike(pool.shares[first[s]], pool.shares[s]);) ++first[s];
  return first;
}

std::string cover_fault(const Problem& problem, const RegisterSplit& split, bool pinned) {
  assert(split_fault(problem, split).empty());
  const RegisterPool& pool = split.pool;
  const Descending descending(exchangeable_shares(problem, pool, pinned));
  std::vector<RegisterCounts> corners;
  for (const RegisterCounts& corner : split.corners) corners.push_back(descending.sorted(corner));
  const auto next_count = [&](Amount above) { return (above / pool.granule + 1) * pool.granule; };
  std::vector<RegisterCounts> open = {
      RegisterCounts(pool.shares.size(), pool.min > 0 ? next_count(pool.min - 1) : 0)};
  std::set<RegisterCounts> visited;
  while (!open.empty()) {
    const RegisterCounts low = std::move(open.back());
    open.pop_back();
    if (!is_split(pool, low) || !visited.insert(low).second) continue;
    if (visited.size() > kMostCompared / (corners.size() + 1))
      return "there are too many corners to see that they cover";
    const auto corner = std::find_if(corners.begin(), corners.end(),
                                     [&](const RegisterCounts& c) { return at_most(low, c); });
    if (corner == corners.end())
      return "the split " + counts_text(problem, pool, low) + " is below no corner";
    for (std::size_t s = 0; s < low.size(); ++s)
      open.push_back(descending.raised(low, s, next_count((*corner)[s])));
  }
  return "";
}

}  // namespace twill
