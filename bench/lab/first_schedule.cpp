#include "bench/lab/first_schedule.hpp"

#include <algorithm>
#include <numeric>

#include "graph/index.hpp"
#include "graph/loop.hpp"
#include "graph/random.hpp"
#include "graph/schedule.hpp"

namespace twill::bench {
namespace {

constexpr Cycle kMostCells = 4'000'000;  // units times cycles

class Serial {
 public:
  Serial(const Problem& p, Cycle horizon)
      : p_(p), horizon_(horizon), from_(p.ops.size()), to_(p.ops.size()) {
    for (const Edge& e : p.edges) {
      from_[at(e.to)].emplace_back(e.from, e.delay);
      to_[at(e.from)].emplace_back(e.to, e.delay);
    }
  }

  /// In the order given, which keeps dependences, each as early as it fits.
  std::vector<Cycle> to_the_left(const std::vector<int>& order) {
    clear();
    std::vector<Cycle> start(p_.ops.size(), 0);
    for (const int v : order) {
      Cycle t = 0;
      for (const auto& [u, delay] : from_[at(v)]) t = std::max(t, start[at(u)] + delay);
      while (const Cycle step = clash(v, t, true)) t += step;
      take(v, start[at(v)] = t);
    }
    return start;
  }
  /// In the order given, which has each op after its users, each as late as it fits before `end`.
  std::vector<Cycle> to_the_right(const std::vector<int>& order, Cycle end) {
    clear();
    std::vector<Cycle> start(p_.ops.size(), 0);
    for (const int v : order) {
      Cycle t = end - p_.ops[at(v)].cycles;
      for (const auto& [w, delay] : to_[at(v)]) t = std::min(t, start[at(w)] - delay);
      while (const Cycle step = clash(v, t, false)) {
        t -= step;
        if (t < 0) return {};
      }
      take(v, start[at(v)] = t);
    }
    return start;
  }
  Cycle end(const std::vector<Cycle>& start) const { return schedule_length(p_, start); }

 private:
  void clear() {
    taken_.assign(p_.units.size(), std::vector<Amount>(static_cast<std::size_t>(horizon_), 0));
  }
  void take(int v, Cycle t) {
    for (const Reservation& r : p_.ops[at(v)].reservations)
      for (Cycle s = t + r.offset; s < t + r.offset + r.length; ++s)
        taken_[at(r.unit)][static_cast<std::size_t>(s)] += r.amount;
  }
  /// How far it has to move at least, to the right or to the left; 0 = it fits.
  Cycle clash(int v, Cycle t, bool right) const {
    if (t < 0) return 0;
    for (const Reservation& r : p_.ops[at(v)].reservations) {
      const std::vector<Amount>& taken = taken_[at(r.unit)];
      const Amount room = p_.units[at(r.unit)].capacity - r.amount;
      const Cycle first = t + r.offset, last = first + r.length - 1;
      if (right) {
        for (Cycle s = last; s >= first; --s)
          if (taken[static_cast<std::size_t>(s)] > room) return s - first + 1;
      } else {
        for (Cycle s = first; s <= last; ++s)
          if (taken[static_cast<std::size_t>(s)] > room) return last - s + 1;
      }
    }
    return 0;
  }

  const Problem& p_;
  Cycle horizon_;
  std::vector<std::vector<std::pair<int, Cycle>>> from_, to_;
  std::vector<std::vector<Amount>> taken_;
};

}  // namespace

std::optional<std::vector<Cycle>> first_schedule(const Problem& p, Cycle low, int passes,
                                                 std::uint64_t seed) {
  Cycle horizon = 1;
  for (const Op& op : p.ops) {
    Cycle longest = op.cycles;
    for (const Reservation& r : op.reservations) {
      if (r.offset < 0) return std::nullopt;
      longest = std::max(longest, r.offset + r.length);
    }
    horizon += longest;
    if (horizon * static_cast<Cycle>(p.units.size() + 1) > kMostCells) return std::nullopt;
  }
  for (const Edge& e : p.edges) {
    if (e.distance != 0 || e.delay < 0 || e.delay > p.ops[at(e.from)].cycles) return std::nullopt;
  }
  const std::vector<int> topological = topological_order(p);
  std::vector<int> place(p.ops.size());
  for (std::size_t i = 0; i < topological.size(); ++i)
    place[at(topological[i])] = static_cast<int>(i);
  std::vector<Cycle> tail(p.ops.size());
  std::vector<std::vector<std::pair<int, Cycle>>> to(p.ops.size());
  for (const Edge& e : p.edges) to[at(e.from)].emplace_back(e.to, e.delay);
  for (auto v = topological.rbegin(); v != topological.rend(); ++v) {
    tail[at(*v)] = p.ops[at(*v)].cycles;
    for (const auto& [w, delay] : to[at(*v)])
      tail[at(*v)] = std::max(tail[at(*v)], delay + tail[at(w)]);
  }
  // Dependences are kept by taking, of those that are free, the one with the least key.
  std::vector<int> waiting(p.ops.size());
  const auto order_by = [&](const std::vector<double>& key, bool backward) {
    std::fill(waiting.begin(), waiting.end(), 0);
    for (const Edge& e : p.edges) ++waiting[at(backward ? e.from : e.to)];
    std::vector<int> order, free;
    std::vector<std::vector<int>> next(p.ops.size());
    for (const Edge& e : p.edges)
      next[at(backward ? e.to : e.from)].push_back(backward ? e.from : e.to);
    for (std::size_t v = 0; v < p.ops.size(); ++v)
      if (waiting[v] == 0) free.push_back(static_cast<int>(v));
    while (!free.empty()) {
      const auto best = std::min_element(free.begin(), free.end(), [&](int a, int b) {
        return key[at(a)] != key[at(b)] ? key[at(a)] < key[at(b)] : place[at(a)] < place[at(b)];
      });
      const int v = *best;
      free.erase(best);
      order.push_back(v);
      for (const int w : next[at(v)])
        if (--waiting[at(w)] == 0) free.push_back(w);
    }
    return order;
  };

  Serial serial(p, horizon);
  SplitMix64 random(seed + 1);
  std::vector<Cycle> best;
  Cycle shortest = 0;
  std::vector<double> key(p.ops.size());
  for (int pass = 0; pass < passes && (best.empty() || shortest > low); ++pass) {
    // Half of the lists by the longest way to the end, half from the best schedule.
    const bool from_best = pass % 2 == 1;
    Cycle span = 1;
    for (std::size_t v = 0; v < key.size(); ++v)
      span = std::max(span, from_best ? shortest : tail[v]);
    const double noise = pass < 2 ? 0 : static_cast<double>(span) / (pass % 4 < 2 ? 10 : 4);
    for (std::size_t v = 0; v < key.size(); ++v) {
      const double base = from_best ? static_cast<double>(best[v]) : -static_cast<double>(tail[v]);
      key[v] = base + noise * (static_cast<double>(random.below(2001)) / 1000 - 1);
    }
    std::vector<Cycle> start = serial.to_the_left(order_by(key, false));
    for (;;) {
      const Cycle length = serial.end(start);
      if (best.empty() || length < shortest) {
        best = start;
        shortest = length;
      }
      for (std::size_t v = 0; v < key.size(); ++v)
        key[v] = -static_cast<double>(start[v] + p.ops[v].cycles);
      const std::vector<Cycle> right = serial.to_the_right(order_by(key, true), length);
      if (right.empty()) break;
      for (std::size_t v = 0; v < key.size(); ++v) key[v] = static_cast<double>(right[v]);
      start = serial.to_the_left(order_by(key, false));
      if (serial.end(start) >= length) break;
    }
  }
  return best;
}

}  // namespace twill::bench
