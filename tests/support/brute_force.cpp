#include "tests/support/brute_force.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace twill::test {
namespace {

Cycle floor_div(Cycle a, Cycle b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

Cycle residue(Cycle a, Cycle b) {
  return a - floor_div(a, b) * b;
}

/// The rules on the ops for which `placed` holds and the edges between them. Placing more ops adds
/// terms to every sum, lengthens lifetimes and adds edges, so a rule that is broken by some of the
/// ops stays broken whatever the others do: the search cuts there.
class Rules {
 public:
  Rules(const Problem& problem, Cycle interval)
      : p_(problem),
        interval_(interval),
        n_(problem.ops.size()),
        start(n_, 0),
        warp(n_, 0),
        placed(n_, false),
        life_(n_, 0),
        sum_(static_cast<std::size_t>(interval), 0) {
    for (const WarpSlot& w : p_.warps) marked_ = marked_ || w.variable_latency;
  }

  const char* broken();

 private:
  const char* slots() const;
  const char* edges() const;
  bool channels() const;
  const char* capacity();
  const char* lifetimes();
  const char* concurrency() const;
  std::vector<int> has_buffer(int load) const;
  int ring_of(std::size_t v) const;
  Cycle buffers(int load) const;
  void add(Cycle from, Cycle length, Amount amount);
  bool exceeds(Amount limit) const;
  bool crosses(const Edge& e) const {
    return warp[idx(e.from)] != warp[idx(e.to)] && e.spill.value_or(p_.ops[idx(e.from)].spill) > 0;
  }
  bool inside(const Edge& e) const { return placed[idx(e.from)] && placed[idx(e.to)]; }
  static std::size_t idx(int i) { return static_cast<std::size_t>(i); }

  const Problem& p_;
  Cycle interval_;
  std::size_t n_;
  bool marked_ = false;

 public:
  std::vector<Cycle> start;
  std::vector<int> warp;
  std::vector<bool> placed;

 private:
  std::vector<Cycle> life_;  ///< per op: length of its result's life; 0 = no placed consumer
  std::vector<Amount> sum_;  ///< per residue
};

const char* Rules::broken() {
  if (const char* rule = slots()) return rule;
  if (const char* rule = edges()) return rule;
  if (channels()) return "channel";
  if (const char* rule = capacity()) return rule;
  if (const char* rule = lifetimes()) return rule;
  return concurrency();
}

const char* Rules::slots() const {
  for (std::size_t v = 0; v < n_; ++v) {
    if (!placed[v]) continue;
    if (warp[v] < 0 || idx(warp[v]) >= p_.warps.size()) return "warp uniqueness";
    const WarpSlot& w = p_.warps[idx(warp[v])];
    if (p_.ops[v].width > w.width) return "warp uniqueness";
    if (marked_ && p_.ops[v].variable_latency != w.variable_latency) return "variable latency";
  }
  for (const Pin& pin : p_.pins) {
    const std::size_t v = idx(pin.op);
    if (!placed[v]) continue;
    bool kept = true;
    if (pin.kind == Pin::on_slot) kept = warp[v] == pin.slot;
    if (pin.kind == Pin::not_on_slot) kept = warp[v] != pin.slot;
    if (pin.kind == Pin::at_cycle) kept = start[v] == pin.cycle;
    if (pin.kind == Pin::same_slot)
      kept = !placed[idx(pin.other)] || warp[v] == warp[idx(pin.other)];
    if (pin.kind == Pin::other_slot)
      kept = !placed[idx(pin.other)] || warp[v] != warp[idx(pin.other)];
    if (pin.kind == Pin::at_stage) kept = start[v] / interval_ == pin.stage;
    if (!kept) return "pin";
  }
  return nullptr;
}

const char* Rules::edges() const {
  for (const Edge& e : p_.edges) {
    if (!inside(e)) continue;
    const Cycle slack = start[idx(e.to)] + e.distance * interval_ - start[idx(e.from)] - e.delay;
    if (slack < 0) return "dependence";
    if (crosses(e) && slack < e.spill.value_or(p_.ops[idx(e.from)].spill))
      return "cross-warp spill";
  }
  return nullptr;
}

/// Is a channel asked for more than passes in an interval? What is left of an interval's share
/// after each op, as a fraction: of small numbers.
bool Rules::channels() const {
  for (std::size_t c = 0; c < p_.channels.size(); ++c) {
    Amount left = p_.channels[c].rate.numerator * interval_,
           parts = p_.channels[c].rate.denominator;
    for (const Op& op : p_.ops)
      for (const Traffic& t : op.traffic)
        if (idx(t.channel) == c) {
          left = left * t.amount.denominator - t.amount.numerator * parts;
          parts *= t.amount.denominator;
          const Amount common = std::gcd(left, parts);
          left /= common;
          parts /= common;
        }
    if (left < 0) return true;
  }
  return false;
}

/// Adds to sum_[s], for every residue s, amount times the number of integers k that put s + k * I
/// into [from, from + length): floor(length / I) everywhere, one more on the first length mod I
/// residues from from's own.
void Rules::add(Cycle from, Cycle length, Amount amount) {
  if (length == 0 || amount == 0) return;
  const Cycle full = length / interval_, rest = length % interval_;
  Cycle s = residue(from, interval_);
  for (Cycle i = 0; i < interval_; ++i) {
    sum_[static_cast<std::size_t>(s)] += amount * (i < rest ? full + 1 : full);
    if (++s == interval_) s = 0;
  }
}

bool Rules::exceeds(Amount limit) const {
  return *std::max_element(sum_.begin(), sum_.end()) > limit;
}

const char* Rules::capacity() {
  for (std::size_t f = 0; f < p_.units.size(); ++f) {
    std::fill(sum_.begin(), sum_.end(), 0);
    for (std::size_t v = 0; v < n_; ++v)
      if (placed[v])
        for (const Reservation& r : p_.ops[v].reservations)
          if (idx(r.unit) == f) add(start[v] + r.offset, r.length, r.amount);
    if (exceeds(p_.units[f].capacity)) return "capacity";
  }
  return nullptr;
}

const char* Rules::lifetimes() {
  std::fill(life_.begin(), life_.end(), 0);
  for (const Edge& e : p_.edges)
    if (inside(e))
      life_[idx(e.from)] = std::max(life_[idx(e.from)], start[idx(e.to)] + e.distance * interval_ +
                                                            e.hold - start[idx(e.from)]);
  for (std::size_t m = 0; m < p_.memories.size(); ++m) {
    std::fill(sum_.begin(), sum_.end(), 0);
    for (std::size_t v = 0; v < n_; ++v)
      for (const Footprint& fp : p_.ops[v].footprints) {
        if (idx(fp.memory) != m) continue;
        const int load = p_.memories[m].rings ? ring_of(v) : -1;
        if (load < 0)
          add(start[v], life_[v], fp.amount);
        else if (placed[idx(load)])
          add(0, buffers(load) * interval_, fp.amount);
      }
    if (exceeds(p_.memories[m].capacity)) return "memory";
  }
  for (std::size_t w = 0; w < p_.warps.size(); ++w) {
    std::fill(sum_.begin(), sum_.end(), 0);
    for (std::size_t v = 0; v < n_; ++v)
      if (placed[v] && idx(warp[v]) == w) add(start[v], life_[v], p_.ops[v].registers);
    if (exceeds(p_.warps[w].registers)) return "registers";
  }
  return nullptr;
}

/// Iterations after the load of each op that has the load's own buffer, -1 = has not: the load and
/// zero-cycle ops behind it, the longest way counting. Ops in a circle take what comes into it.
std::vector<int> Rules::has_buffer(int load) const {
  constexpr int kHasNot = -1, kOpen = -2;
  std::vector<int> after(n_, kHasNot);
  std::vector<int> queue = {load};
  after[idx(load)] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const Edge& e : p_.edges)
      if (e.from == queue[i] && p_.ops[idx(e.to)].cycles == 0 && after[idx(e.to)] == kHasNot) {
        after[idx(e.to)] = kOpen;
        queue.push_back(e.to);
      }
  for (std::size_t left = queue.size() - 1; left > 0;) {
    std::vector<int> next(n_, kOpen);
    std::vector<bool> early(n_, false);
    for (const Edge& e : p_.edges)
      if (after[idx(e.to)] == kOpen && e.from != e.to) {
        if (after[idx(e.from)] == kOpen) early[idx(e.to)] = true;
        if (after[idx(e.from)] >= 0)
          next[idx(e.to)] = std::max(next[idx(e.to)], after[idx(e.from)] + e.distance);
      }
    bool all_early = true;
    for (std::size_t v = 0; v < n_; ++v) all_early = all_early && (next[v] < 0 || early[v]);
    for (std::size_t v = 0; v < n_; ++v)
      if (next[v] >= 0 && (all_early || !early[v])) {
        after[v] = next[v];
        --left;
      }
  }
  return after;
}

/// The only load whose buffer v has; -1 = none or several.
int Rules::ring_of(std::size_t v) const {
  int found = -1, count = 0;
  for (std::size_t u = 0; u < n_; ++u)
    if ((p_.ops[u].streaming || p_.ops[u].in_flight) && has_buffer(static_cast<int>(u))[v] >= 0) {
      found = static_cast<int>(u);
      ++count;
    }
  return count == 1 ? found : -1;
}

/// A placed load's buffer is taken in [issue, end of the last use], that end included. How many of
/// those of all iterations lie over the issue of one more: tried one by one.
Cycle Rules::buffers(int load) const {
  const std::vector<int> after = has_buffer(load);
  Cycle last = start[idx(load)];
  for (const Edge& e : p_.edges)
    if (after[idx(e.from)] >= 0 && placed[idx(e.to)])
      last = std::max(last, start[idx(e.to)] + (after[idx(e.from)] + e.distance) * interval_ +
                                std::max(e.hold, p_.ops[idx(e.to)].cycles));
  Cycle count = 0;
  while (start[idx(load)] + count * interval_ <= last) ++count;
  return count;
}

const char* Rules::concurrency() const {
  for (const Edge& e : p_.edges) {
    if (!inside(e) || !(e.blocking || crosses(e))) continue;
    const std::size_t v = idx(e.to);
    if (p_.warps[idx(warp[v])].variable_latency) continue;
    for (std::size_t o = 0; o < n_; ++o) {
      if (o == v || !placed[o] || warp[o] != warp[v] || p_.ops[o].cycles == 0) continue;
      // In [M(o), M(o) + cycles(o)) modulo I; with cycles(o) >= I that is every residue.
      if (residue(start[v] - start[o], interval_) < p_.ops[o].cycles) return "concurrency";
    }
  }
  return nullptr;
}

using Ops = std::vector<std::size_t>;

/// Depth-first over some ops, each over its slots and starts; shortest length found so far as
/// bound.
class Search {
 public:
  Search(const Problem& problem, Cycle interval, Cycle max_stages, const Ops& ops)
      : p_(problem),
        interval_(interval),
        starts_(interval * max_stages),
        rules_(problem, interval) {
    order_by_edges(ops);
  }

  std::optional<Schedule> shortest() {
    place(0, 0);
    return best_;
  }

  bool exists() {
    first_only_ = true;
    place(0, 0);
    return best_.has_value();
  }

 private:
  /// Ops that share edges follow each other: then their windows are narrow. Any order is right.
  void order_by_edges(Ops left) {
    while (!left.empty()) {
      const auto adjacent = [&](std::size_t v) {
        return std::any_of(p_.edges.begin(), p_.edges.end(), [&](const Edge& e) {
          const auto a = static_cast<std::size_t>(e.from), b = static_cast<std::size_t>(e.to);
          return (a == v && std::count(order_.begin(), order_.end(), b) > 0) ||
                 (b == v && std::count(order_.begin(), order_.end(), a) > 0);
        });
      };
      auto pick = std::find_if(left.begin(), left.end(), adjacent);
      if (pick == left.end()) pick = left.begin();
      order_.push_back(*pick);
      left.erase(pick);
    }
  }

  bool done(Cycle length) const { return best_ && (first_only_ || length >= best_->length); }

  void place(std::size_t depth, Cycle length) {
    if (depth == order_.size()) {
      best_ = Schedule{interval_, length, rules_.start, rules_.warp};
      return;
    }
    const std::size_t v = order_[depth];
    Cycle low = 0, high = starts_ - 1;  // what the edges to placed ops leave
    for (const Edge& e : p_.edges) {
      const auto a = static_cast<std::size_t>(e.from), b = static_cast<std::size_t>(e.to);
      const Cycle apart = e.delay - e.distance * interval_;
      if (b == v && rules_.placed[a]) low = std::max(low, rules_.start[a] + apart);
      if (a == v && rules_.placed[b]) high = std::min(high, rules_.start[b] - apart);
    }
    if (depth + 1 == order_.size() && p_.pins.empty() && !zero_placed())
      high = std::min<Cycle>(high, 0);
    for (Cycle t = low; t <= high; ++t) {
      const Cycle longer = std::max(length, t + p_.ops[v].cycles);
      for (std::size_t w = 0; w < p_.warps.size() && !done(longer); ++w) {
        if (!worth_trying(w)) continue;
        rules_.placed[v] = true;
        rules_.start[v] = t;
        rules_.warp[v] = static_cast<int>(w);
        if (!rules_.broken()) place(depth + 1, longer);
        rules_.placed[v] = false;
      }
      if (done(longer)) break;
    }
  }

  /// Of slots that differ only in their name, an empty one is tried only if all before it are used:
  /// exchanging two such slots changes nothing.
  bool worth_trying(std::size_t w) const {
    if (!p_.pins.empty()) return true;
    const auto used = [&](std::size_t slot) {
      return std::any_of(order_.begin(), order_.end(), [&](std::size_t o) {
        return rules_.placed[o] && static_cast<std::size_t>(rules_.warp[o]) == slot;
      });
    };
    for (std::size_t before = 0; before < w; ++before) {
      WarpSlot twin = p_.warps[before];
      twin.name = p_.warps[w].name;
      if (twin == p_.warps[w] && !used(before)) return false;
    }
    return true;
  }

  bool zero_placed() const {
    return std::any_of(order_.begin(), order_.end(),
                       [&](std::size_t v) { return rules_.placed[v] && rules_.start[v] == 0; });
  }

  const Problem& p_;
  Cycle interval_;
  Cycle starts_;
  Rules rules_;
  Ops order_;
  bool first_only_ = false;
  std::optional<Schedule> best_;
};

/// Is there a group of at most three ops that cannot even be scheduled alone? Most problems that
/// cannot be scheduled show it so, long before all placements of the others are through.
bool small_clash(const Problem& problem, Cycle interval, Cycle max_stages) {
  const std::size_t n = problem.ops.size();
  const auto clash = [&](const Ops& ops) {
    return !Search(problem, interval, max_stages, ops).exists();
  };
  for (std::size_t a = 0; a < n; ++a)
    if (clash({a})) return true;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (clash({b, a})) return true;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < a; ++b)
      for (std::size_t c = 0; c < b; ++c)
        if (clash({c, b, a})) return true;
  return false;
}

}  // namespace

std::optional<std::string> broken_rule(const Problem& problem, const Schedule& schedule) {
  const std::size_t n = problem.ops.size();
  if (schedule.start.size() != n || schedule.warp.size() != n) return "shape";
  if (schedule.initiation_interval < 1) return "initiation interval";
  Cycle length = 0;
  for (std::size_t v = 0; v < n; ++v) {
    if (schedule.start[v] < 0) return "start";
    length = std::max(length, schedule.start[v] + problem.ops[v].cycles);
  }
  if (schedule.length != length) return "length";
  Rules rules(problem, schedule.initiation_interval);
  rules.start = schedule.start;
  rules.warp = schedule.warp;
  rules.placed.assign(n, true);
  const char* rule = rules.broken();
  return rule ? std::optional<std::string>(rule) : std::nullopt;
}

std::optional<Schedule> brute_force_at(const Problem& problem, Cycle initiation_interval,
                                       Cycle max_stages) {
  if (small_clash(problem, initiation_interval, max_stages)) return std::nullopt;
  Ops all(problem.ops.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return Search(problem, initiation_interval, max_stages, all).shortest();
}

std::optional<Schedule> brute_force(const Problem& problem, Cycle max_interval, Cycle max_stages) {
  for (Cycle interval = 1; interval <= max_interval; ++interval)
    if (auto schedule = brute_force_at(problem, interval, max_stages)) return schedule;
  return std::nullopt;
}

}  // namespace twill::test
