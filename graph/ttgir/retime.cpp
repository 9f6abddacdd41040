// The sum is linear in s, and lattice steps by sets of ops lead to its least value (an
// L-natural-convex function: Murota, Discrete Convex Analysis, 2003): as long as some set of ops
// can be shifted by one together with gain, the best such set is shifted. Which it is, is a closure
// of largest weight, a maximum flow (Picard, 1976).
#include "graph/ttgir/retime.hpp"

#include <algorithm>
#include <deque>

namespace twill::ttgir {
namespace {

constexpr std::int64_t kInfinite = std::int64_t{1} << 40;
constexpr int kMaxShifts = 1'000;
constexpr std::int64_t kMaxVisits = 100'000'000;  // a second; attention takes 100,000

/// A maximum flow by shortest augmenting paths (Edmonds and Karp, 1972): loops have hundreds of
/// ops.
class Flow {
 public:
  Flow(int nodes, std::int64_t& visits) : out_(static_cast<std::size_t>(nodes)), visits_(visits) {}

  void add(int from, int to, std::int64_t capacity) {
    out_[static_cast<std::size_t>(from)].push_back(static_cast<int>(arcs_.size()));
    arcs_.emplace_back(to, capacity);
    out_[static_cast<std::size_t>(to)].push_back(static_cast<int>(arcs_.size()));
    arcs_.emplace_back(from, 0);
  }

  /// The nodes on the source's side of a smallest cut; none when that takes too long.
  std::vector<bool> cut(int source, int sink) {
    for (;;) {
      std::vector<int> by(out_.size(), -1);
      std::vector<bool> seen(out_.size(), false);
      std::deque<int> queue = {source};
      seen[static_cast<std::size_t>(source)] = true;
      while (!queue.empty() && !seen[static_cast<std::size_t>(sink)]) {
        const int node = queue.front();
        queue.pop_front();
        for (const int a : out_[static_cast<std::size_t>(node)]) {
          if (++visits_ > kMaxVisits) return {};
          const auto& [to, left] = arcs_[static_cast<std::size_t>(a)];
          if (left == 0 || seen[static_cast<std::size_t>(to)]) continue;
          seen[static_cast<std::size_t>(to)] = true;
          by[static_cast<std::size_t>(to)] = a;
          queue.push_back(to);
        }
      }
      if (!seen[static_cast<std::size_t>(sink)]) return seen;
      std::int64_t most = kInfinite;
      for (int v = sink; v != source;
           v = arcs_[static_cast<std::size_t>(by[static_cast<std::size_t>(v)] ^ 1)].first)
        most =
            std::min(most, arcs_[static_cast<std::size_t>(by[static_cast<std::size_t>(v)])].second);
      for (int v = sink; v != source;
           v = arcs_[static_cast<std::size_t>(by[static_cast<std::size_t>(v)] ^ 1)].first) {
        arcs_[static_cast<std::size_t>(by[static_cast<std::size_t>(v)])].second -= most;
        arcs_[static_cast<std::size_t>(by[static_cast<std::size_t>(v)] ^ 1)].second += most;
      }
    }
  }

 private:
  std::vector<std::pair<int, std::int64_t>> arcs_;  // to, what is left; its reverse is the next
  std::vector<std::vector<int>> out_;
  std::int64_t& visits_;
};

std::int64_t slack(const Distance& edge, const std::vector<std::int64_t>& s) {
  return edge.iterations + s[static_cast<std::size_t>(edge.to)] -
         s[static_cast<std::size_t>(edge.from)];
}

/// The ops that are best shifted by `by` (1 or -1) together; empty = none with gain.
std::vector<int> best_set(int ops, const std::vector<Distance>& edges,
                          const std::vector<std::int64_t>& s, int by, std::int64_t& visits) {
  std::vector<std::int64_t> gain(static_cast<std::size_t>(ops), 0);
  Flow flow(ops + 2, visits);
  for (const Distance& edge : edges) {
    if (edge.from == edge.to) continue;
    if (edge.carries) {
      gain[static_cast<std::size_t>(edge.from)] += by;
      gain[static_cast<std::size_t>(edge.to)] -= by;
    }
    if (slack(edge, s) > 0) continue;
    if (by > 0)
      flow.add(edge.from, edge.to, kInfinite);  // who goes takes along
    else
      flow.add(edge.to, edge.from, kInfinite);
  }
  std::int64_t all = 0;
  for (int v = 0; v < ops; ++v) {
    const std::int64_t g = gain[static_cast<std::size_t>(v)];
    if (g > 0) flow.add(ops, v, g);
    if (g < 0) flow.add(v, ops + 1, -g);
    all += g > 0 ? g : 0;
  }
  if (all == 0) return {};
  const std::vector<bool> side = flow.cut(ops, ops + 1);
  if (side.empty()) return {};
  std::vector<int> set;
  std::int64_t sum = 0;
  for (int v = 0; v < ops; ++v)
    if (side[static_cast<std::size_t>(v)]) {
      set.push_back(v);
      sum += gain[static_cast<std::size_t>(v)];
    }
  if (sum <= 0) set.clear();
  return set;
}

}  // namespace

std::optional<std::vector<std::int64_t>> retime(int ops, const std::vector<Distance>& edges) {
  std::vector<std::int64_t> s(static_cast<std::size_t>(ops), 0);
  bool moved = true;
  for (int round = 0; moved; ++round) {  // Bellman and Ford
    if (round > ops) return std::nullopt;
    moved = false;
    for (const Distance& edge : edges)
      if (const std::int64_t missing = -slack(edge, s); missing > 0) {
        if (edge.from == edge.to) return std::nullopt;
        s[static_cast<std::size_t>(edge.to)] += missing;
        moved = true;
      }
  }
  std::int64_t visits = 0;
  for (int step = 0;; ++step) {
    if (step == kMaxShifts) return std::nullopt;
    int by = 1;
    std::vector<int> set = best_set(ops, edges, s, by, visits);
    if (set.empty()) set = best_set(ops, edges, s, by = -1, visits);
    if (visits > kMaxVisits) return std::nullopt;
    if (set.empty()) break;
    for (const int v : set) s[static_cast<std::size_t>(v)] += by;
  }
  if (ops > 0) {
    const std::int64_t least = *std::min_element(s.begin(), s.end());
    for (std::int64_t& shift : s) shift -= least;
  }
  return s;
}

}  // namespace twill::ttgir
