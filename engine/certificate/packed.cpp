// Why smaller intervals are refuted as well: of op u one edge and one path at `ii` is used, with
// delays and hold of w(u) >= 0 in all and t(u) turns. The same edge and path ask for w(u) + t(u) I
// at every I, so that with weights f of which a resource holds at most F a cycle every I has
// W + T I <= F I, W >= 0. If that fails at `ii`: with T < F it fails at every smaller I, since
// W > (F - T) ii; and with T >= F everywhere, but for W = 0 and T = F, where it holds at `ii`.
#include "engine/certificate/packed.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/memory_charges.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

constexpr std::int64_t kMostSteps = 20'000'000;  // more: only the edges themselves
constexpr std::size_t kMostSets = 64, kMostSizes = 1'000, kMostVisits = 1'000;
constexpr Amount kMostParts = 8;
constexpr Amount kSmallBin = 64, kBinParts = 8;
constexpr Wide kFar = -(Wide{1} << 100);

// What a value takes, and the sizes of the bins that it may be in.
struct Held {
  Amount size = 0;
  Wide life = 0;
  std::vector<Amount> bins;
};

// The longest paths from u, by a queue of what has become later.
std::vector<Wide> distances(const Problem& p, const Forced& forced, Cycle ii,
                            const std::vector<std::vector<std::size_t>>& leaving, std::size_t u) {
  std::vector<Wide> far(p.ops.size(), kFar);
  std::vector<char> queued(p.ops.size(), 0);
  std::deque<std::size_t> queue{u};
  far[u] = 0;
  // (A path is one, if not the longest, wherever this ends.)
  for (std::size_t left = kMostVisits * p.ops.size(); left > 0 && !queue.empty(); --left) {
    const std::size_t v = queue.front();
    queue.pop_front();
    queued[v] = 0;
    for (const std::size_t e : leaving[v]) {
      const std::size_t to = at(p.edges[e].to);
      const Wide reached = far[v] + forced.delay[e] - Wide{p.edges[e].distance} * ii;
      if (reached <= far[to]) continue;
      far[to] = reached;
      if (queued[to] == 0) queue.push_back(to);
      queued[to] = 1;
    }
  }
  return far;
}

std::vector<Wide> least_lives(const Problem& p, const Forced& forced, Cycle ii) {
  std::vector<std::vector<std::size_t>> leaving(p.ops.size());
  for (std::size_t e = 0; e < p.edges.size(); ++e) leaving[at(p.edges[e].from)].push_back(e);
  const auto several = std::count_if(leaving.begin(), leaving.end(),
                                     [](const auto& edges) { return edges.size() > 1; });
  const bool paths = several * static_cast<std::int64_t>(p.edges.size()) <= kMostSteps;
  std::vector<Wide> lives(p.ops.size(), 0);
  for (std::size_t u = 0; u < p.ops.size(); ++u) {
    Wide& life = lives[u];
    for (const std::size_t e : leaving[u]) {
      life = std::max(life, Wide{forced.delay[e]} + p.edges[e].hold);
      if (at(p.edges[e].to) == u)
        life = std::max(life, Wide{p.edges[e].distance} * ii + p.edges[e].hold);
    }
    if (leaving[u].size() < 2 || !paths) continue;
    const std::vector<Wide> far = distances(p, forced, ii, leaving, u);
    for (const std::size_t e : leaving[u])
      life =
          std::max(life, far[at(p.edges[e].to)] + Wide{p.edges[e].distance} * ii + p.edges[e].hold);
  }
  return lives;
}

// Part k of a bin: sizes that are multiples of its (k + 1)th count k / (k + 1), others are rounded
// down to whole (k + 1)ths, of which k count as a bin.
Wide in_parts(Amount size, Amount bin, Amount k) {
  const Wide share = Wide{size} * (k + 1);
  const Wide whole = share / bin;
  return whole * bin == share ? Wide{size} * k : whole * bin;
}

// Pieces of k; of more than half of a bin, what it leaves no room for. Twice, for the halves.
Wide in_pieces(Amount size, Amount bin, Amount k) {
  const Wide room = Wide{bin} / k;
  if (size > bin - size) return 2 * room - 2 * (Wide{bin - size} / k);
  if (size == bin - size) return room;
  return Wide{size} / k * 2;
}

template <class Weight>
bool weighs_too_much(const std::vector<Held>& held, Wide most, Cycle ii, Weight weight) {
  Wide sum = 0;
  for (const Held& one : held) {
    Wide least = weight(one.size, one.bins.front());
    for (const Amount bin : one.bins) least = std::min(least, weight(one.size, bin));
    sum += least * one.life;
  }
  return sum > most * ii;
}

bool overfilled(const std::vector<Held>& held, const std::vector<Amount>& bins, Cycle ii) {
  if (held.empty()) return false;
  Wide all = 0;
  for (const Amount bin : bins) all += bin;
  if (weighs_too_much(held, all, ii, [](Amount size, Amount) { return Wide{size}; })) return true;
  for (Amount k = 1; k <= kMostParts; ++k)
    if (weighs_too_much(held, all * k, ii,
                        [k](Amount size, Amount bin) { return in_parts(size, bin, k); }))
      return true;
  std::set<Amount> sizes;
  for (const Held& one : held)
    for (const Amount bin : one.bins)
      for (const Amount k : {one.size, bin - one.size, bin - one.size + 1})
        if (k > 0 && k <= bin / 2 && sizes.size() < kMostSizes) sizes.insert(k);
  return std::any_of(sizes.begin(), sizes.end(), [&](Amount k) {
    Wide most = 0;
    for (const Amount bin : bins) most += 2 * (Wide{bin} / k);
    return weighs_too_much(held, most, ii,
                           [k](Amount size, Amount bin) { return in_pieces(size, bin, k); });
  });
}

bool slots_overfilled(const Problem& p, const Forced& forced, const std::vector<Wide>& lives,
                      Cycle ii) {
  std::vector<std::vector<int>> homes(p.ops.size());
  std::set<std::vector<int>> sets;
  std::vector<int> every;
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w)
    if (p.warps[at(w)].registers > 0) every.push_back(w);
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    if (p.ops[v].registers <= 0) continue;
    for (const int w : forced.slots[v])
      if (p.warps[at(w)].registers >= p.ops[v].registers) homes[v].push_back(w);
    if (!homes[v].empty() && sets.size() < kMostSets) sets.insert(homes[v]);
  }
  sets.insert(every);
  return std::any_of(sets.begin(), sets.end(), [&](const std::vector<int>& set) {
    std::vector<Amount> bins;
    for (const int w : set) bins.push_back(p.warps[at(w)].registers);
    std::vector<Held> held;
    for (std::size_t v = 0; v < p.ops.size(); ++v) {
      const auto inside = [&](int w) { return std::find(set.begin(), set.end(), w) != set.end(); };
      if (lives[v] <= 0 || homes[v].empty() ||
          !std::all_of(homes[v].begin(), homes[v].end(), inside))
        continue;
      held.push_back({p.ops[v].registers, lives[v], {}});
      for (const int w : homes[v]) held.back().bins.push_back(p.warps[at(w)].registers);
    }
    return overfilled(held, bins, ii);
  });
}

bool memory_overfilled(const Problem& p, int m, const std::vector<Wide>& lives, Cycle ii) {
  Amount room = p.memories[at(m)].capacity;
  std::vector<Amount> takes(p.ops.size(), 0);
  if (p.memories[at(m)].rings) {
    MemoryCharges charges = memory_charges(p, m);
    for (const Amount buffer : charges.ring) room -= buffer;
    takes = std::move(charges.live);
  } else {
    for (std::size_t v = 0; v < p.ops.size(); ++v)
      for (const Footprint& f : p.ops[v].footprints)
        if (f.memory == m) takes[v] += f.amount;
  }
  if (room <= 0) return false;
  std::vector<Held> held;
  for (std::size_t v = 0; v < p.ops.size(); ++v)
    if (takes[v] > 0 && takes[v] <= room && lives[v] > 0)
      held.push_back({takes[v], lives[v], {room}});
  return overfilled(held, {room}, ii);
}

}  // namespace

bool packing_exceeded(const Problem& problem, const Forced& forced, Cycle ii) {
  const std::vector<Wide> lives = least_lives(problem, forced, ii);
  if (slots_overfilled(problem, forced, lives, ii)) return true;
  for (int m = 0; m < static_cast<int>(problem.memories.size()); ++m)
    if (memory_overfilled(problem, m, lives, ii)) return true;
  return false;
}

std::vector<BinWeights> weights_in(const std::vector<Amount>& amounts, Amount bin) {
  std::vector<BinWeights> all;
  const auto add = [&](Wide most, const auto& weight) {
    BinWeights& next = all.emplace_back(most, std::vector<Wide>{});
    for (const Amount amount : amounts) next.of.push_back(weight(amount));
  };
  add(bin, [](Amount amount) { return Wide{amount}; });
  if (bin < 2 || bin > kSmallBin) return all;
  for (Amount k = 1; k <= kBinParts; ++k)
    add(Wide{bin} * k, [&](Amount amount) { return in_parts(amount, bin, k); });
  for (Amount k = 1; k <= bin / 2; ++k)
    add(2 * (Wide{bin} / k), [&](Amount amount) { return in_pieces(amount, bin, k); });
  return all;
}

}  // namespace twill
