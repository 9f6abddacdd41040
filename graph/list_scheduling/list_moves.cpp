// Moves from one order to another. Most are by the keys of by_keys(): the starts of the schedule
// with some changes, from which the starts of the next one come. So an op that is to come sooner
// takes along what it needs, and the rest closes up.
#include "graph/list_scheduling/list_moves.hpp"

#include <algorithm>
#include <utility>

#include "graph/bounds/destructive.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/loop.hpp"

namespace twill {
namespace {

constexpr int kMostPulled = 50;  // ops that come sooner so that one result is needed no longer
constexpr int kMostNewSlots = 4;
constexpr std::size_t kMostSoon = 4, kSoon = 8;  // ops that a unit begins with, and of how many

struct HeldLife {
  int op;
  Cycle begin, length;
  Amount amount;
};

/// Of a life in a period of `ii`, at a cycle.
Amount copies(const HeldLife& life, Cycle when, Cycle ii) {
  return life.length / ii + (mod(when - life.begin, ii) < life.length % ii ? 1 : 0);
}

/// What is held, by register file and then by memory. Of memories what is asked for alone: rings
/// are not looked at.
std::vector<std::vector<HeldLife>> lives(const Problem& problem, const Schedule& s) {
  std::vector<Cycle> length(problem.ops.size(), 0);
  for (const Edge& e : problem.edges)
    length[at(e.from)] =
        std::max(length[at(e.from)], s.start[at(e.to)] + e.distance * s.initiation_interval +
                                         e.hold - s.start[at(e.from)]);
  std::vector<std::vector<HeldLife>> stores(problem.warps.size() + problem.memories.size());
  for (int v = 0; v < static_cast<int>(length.size()); ++v) {
    const Op& op = problem.ops[at(v)];
    const auto hold = [&](std::size_t store, Amount amount) {
      if (length[at(v)] > 0 && amount > 0)
        stores[store].push_back({v, s.start[at(v)], length[at(v)], amount});
    };
    hold(at(s.warp[at(v)]), op.registers);
    for (const Footprint& f : op.footprints) hold(problem.warps.size() + at(f.memory), f.amount);
  }
  return stores;
}

}  // namespace

ListMoves::ListMoves(const Problem& problem, Cycle period, Cycle low, Cycle shortest,
                     SplitMix64& random)
    : p_(problem),
      low_(low),
      shortest_(shortest),
      random_(random),
      busiest_(busiest_unit(problem)),
      successors_(problem.ops.size()),
      predecessors_(problem.ops.size()) {
  if (auto windows = start_ranges(problem, period, shortest)) {
    earliest_ = std::move(windows->earliest);
    latest_ = std::move(windows->latest);
  } else {  // what `shortest` refutes is the smallest period alone
    const std::vector<Cycle> delays = forced_delays(problem);
    earliest_ = *earliest_starts(problem, period, delays);
    latest_ = *latest_starts(problem, period, shortest, delays);
  }
  soonest_ = busiest_.users;
  std::stable_sort(soonest_.begin(), soonest_.end(),
                   [&](int a, int b) { return earliest_[at(a)] < earliest_[at(b)]; });
  for (const Edge& e : problem.edges) {
    if (e.distance != 0) continue;
    successors_[at(e.from)].push_back(e.to);
    predecessors_[at(e.to)].push_back(e.from);
  }
}

std::vector<int> ListMoves::by_keys(const std::vector<Cycle>& keys) const {
  std::vector<int> missing(p_.ops.size()), order;
  std::vector<std::pair<Cycle, int>> ready;  // a heap
  const auto later = [](const auto& a, const auto& b) { return a > b; };
  const auto add = [&](int v) {
    ready.emplace_back(keys[at(v)], v);
    std::push_heap(ready.begin(), ready.end(), later);
  };
  for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
    missing[at(v)] = static_cast<int>(predecessors_[at(v)].size());
    if (missing[at(v)] == 0) add(v);
  }
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    const int v = ready.back().second;
    ready.pop_back();
    order.push_back(v);
    for (const int u : successors_[at(v)])
      if (--missing[at(u)] == 0) add(u);
  }
  return order;
}

std::vector<int> ListMoves::urgent_first(const std::vector<int>& order) const {
  std::vector<Cycle> keys(order.size());
  std::vector<Cycle> time(order.size(), 0);
  for (const int v : busiest_.users)
    for (const Reservation& r : p_.ops[at(v)].reservations)
      if (r.unit == busiest_.unit) time[at(v)] = std::max(time[at(v)], r.length);
  Cycle now = 0;
  for (const int v : order) {
    keys[at(v)] = std::clamp(now, earliest_[at(v)], latest_[at(v)]);
    now += time[at(v)];
  }
  return by_keys(keys);
}

std::pair<Cycle, Cycle> ListMoves::use(const Schedule& s, int v) const {
  Cycle first = kMaxInterval, last = 0;
  for (const Reservation& r : p_.ops[at(v)].reservations)
    if (r.unit == busiest_.unit) {
      first = std::min(first, r.offset);
      last = std::max(last, r.offset + r.length);
    }
  return {s.start[at(v)] + first, s.start[at(v)] + last};
}

ListMove ListMoves::near(const Schedule& s, bool overflows) {
  ListMove move{{}, s.start, s.warp};
  std::vector<Cycle>& keys = move.expected;
  if (!overflows || random_.below(2) == 0 || !relieve(s, keys, move.slots)) {
    switch (random_.below(8)) {
      case 0:
        if (!close_gap(s, keys)) noise(s, keys);
        break;
      case 1: cut_end(s, keys); break;
      case 2: cut_begin(s, keys); break;
      case 3:
        if (!begin_with(s, keys)) noise(s, keys);
        break;
      case 4:
        if (!end_with(s, keys)) noise(s, keys);
        break;
      default: noise(s, keys);
    }
    const auto slots = random_.below(8);
    if (slots < 2) {
      move.slots.clear();
    } else if (slots < 5) {
      for (auto k = random_.range(1, kMostNewSlots); k > 0; --k) {
        const std::size_t v = random_.below(p_.ops.size());
        const std::vector<int> allowed = allowed_slots(p_, static_cast<int>(v));
        move.slots[v] = allowed[random_.below(allowed.size())];
      }
    }
  }
  if (random_.below(2) == 0) cut_end(s, keys);
  move.order = by_keys(keys);
  return move;
}

// Of all ops, or of those in a window of time.
void ListMoves::noise(const Schedule& s, std::vector<Cycle>& keys) {
  const bool everywhere = random_.below(3) == 0;
  const Cycle most = s.length / random_.range(20, 400) + 1;
  const Cycle centre = random_.range(0, s.length), width = s.length / random_.range(2, 20) + 1;
  const auto share = random_.range(1, 10);
  for (Cycle& key : keys)
    if ((everywhere || (centre - width <= key && key < centre + width)) &&
        random_.range(0, 9) < share)
      key += random_.range(-most, most);
}

// An op of the busiest unit, at a gap or a little behind it, comes sooner with all that it needs.
bool ListMoves::close_gap(const Schedule& s, std::vector<Cycle>& keys) {
  std::vector<int> users = busiest_.users;
  std::sort(users.begin(), users.end(), [&](int a, int b) {
    return std::pair(s.start[at(a)], a) < std::pair(s.start[at(b)], b);
  });
  std::vector<std::size_t> behind_gaps;
  Cycle busy = 0;
  for (std::size_t i = 0; i < users.size(); ++i) {
    const auto [first, last] = use(s, users[i]);
    if (first > busy) behind_gaps.push_back(i);
    busy = std::max(busy, last);
  }
  if (behind_gaps.empty()) return false;
  const std::size_t gap = behind_gaps[random_.below(behind_gaps.size())];
  const int v = users[std::min(users.size() - 1, gap + random_.below(4))];
  if (random_.below(2) == 0) {
    // Or no sooner than it takes to be there when the gap begins.
    const Cycle begin = gap == 0 ? 0 : use(s, users[gap - 1]).second;
    const Cycle more = random_.range(0, low_ / random_.range(20, 400));
    keys[at(v)] = begin - (use(s, v).first - s.start[at(v)]) - more;
    std::vector<int> pulled = {v};
    for (std::size_t i = 0; i < pulled.size(); ++i)
      for (const int u : predecessors_[at(pulled[i])]) {
        const Cycle latest = keys[at(pulled[i])] - p_.ops[at(u)].cycles;
        if (keys[at(u)] <= latest) continue;
        keys[at(u)] = latest;
        pulled.push_back(u);
      }
    return true;
  }
  const Cycle by = random_.range(1, low_ / 10 + 1);
  std::vector<char> seen(keys.size(), 0);
  std::vector<int> reached = {v};
  seen[at(v)] = 1;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    keys[at(reached[i])] -= by;
    for (const int u : predecessors_[at(reached[i])])
      if (std::exchange(seen[at(u)], 1) == 0) reached.push_back(u);
  }
  return true;
}

// By how much it is to be shorter.
Cycle ListMoves::shorter_by(const Schedule& s) {
  return random_.range(1, std::max<Cycle>(1, std::min(s.length - shortest_, low_ / 20)));
}

// What begins too late for a shorter one comes sooner.
void ListMoves::cut_end(const Schedule& s, std::vector<Cycle>& keys) {
  const Cycle deadline = s.length - shorter_by(s);
  for (std::size_t v = 0; v < keys.size(); ++v)
    keys[v] = std::min(keys[v], latest_[v] + deadline - shortest_);
}

// What would begin too early if the first cycles were cut off comes later.
void ListMoves::cut_begin(const Schedule& s, std::vector<Cycle>& keys) {
  const Cycle by = shorter_by(s);
  for (std::size_t v = 0; v < keys.size(); ++v) keys[v] = std::max(keys[v], earliest_[v] + by);
}

// The busiest unit begins with an op that can be there sooner than the one that it begins with,
// which has what it needs at once. One alone would leave the unit idle behind it, where others have
// to wait for the same units; so, often, some others come with it, and all that they need in any
// order.
bool ListMoves::begin_with(const Schedule& s, std::vector<Cycle>& keys) {
  Cycle begin = s.length;
  for (const int v : busiest_.users) begin = std::min(begin, s.start[at(v)]);
  const auto sooner = static_cast<std::size_t>(
      std::partition_point(soonest_.begin(), soonest_.end(),
                           [&](int v) { return earliest_[at(v)] < begin; }) -
      soonest_.begin());
  if (sooner == 0) return false;
  std::vector<int> reached = {soonest_[random_.below(sooner)]};
  for (auto more = random_.below(kMostSoon); more > 0; --more)
    reached.push_back(soonest_[random_.below(std::min(kSoon, soonest_.size()))]);
  std::vector<char> seen(keys.size(), 0);
  for (const int v : reached) seen[at(v)] = 1;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    keys[at(reached[i])] = -random_.range(1, low_);
    for (const int u : predecessors_[at(reached[i])])
      if (std::exchange(seen[at(u)], 1) == 0) reached.push_back(u);
  }
  return true;
}

// And it ends with one behind which less follows than behind the one that it ends with.
bool ListMoves::end_with(const Schedule& s, std::vector<Cycle>& keys) {
  const auto tail = [&](int v) { return shortest_ - latest_[at(v)] - p_.ops[at(v)].cycles; };
  int last = -1;
  for (const int v : busiest_.users)
    if (last < 0 || s.start[at(v)] > s.start[at(last)]) last = v;
  std::vector<int> shorter;
  for (const int v : busiest_.users)
    if (tail(v) < tail(last)) shorter.push_back(v);
  if (shorter.empty()) return false;
  keys[at(shorter[random_.below(shorter.size())])] = s.length;
  return true;
}

// Where a register file or a memory overflows, one of the results that it holds then goes to
// another slot, or comes later, or is needed no longer.
bool ListMoves::relieve(const Schedule& s, std::vector<Cycle>& keys, std::vector<int>& slots) {
  const Cycle ii = s.initiation_interval;
  const std::vector<std::vector<HeldLife>> stores = lives(p_, s);
  // It is fullest where a life begins.
  std::vector<std::pair<std::size_t, Cycle>> moments;
  for (std::size_t m = 0; m < stores.size(); ++m) {
    const Amount capacity =
        m < p_.warps.size() ? p_.warps[m].registers : p_.memories[m - p_.warps.size()].capacity;
    for (const HeldLife& one : stores[m]) {
      Amount sum = 0;
      for (const HeldLife& other : stores[m]) sum += other.amount * copies(other, one.begin, ii);
      if (sum > capacity) moments.emplace_back(m, one.begin);
    }
  }
  if (moments.empty()) return false;
  const auto [m, when] = moments[random_.below(moments.size())];
  std::vector<HeldLife> held;
  for (const HeldLife& one : stores[m])
    if (copies(one, when, ii) > 0) held.push_back(one);
  const HeldLife life = held[random_.below(held.size())];
  const Cycle moment = life.begin + mod(when - life.begin, ii);
  const Cycle more = random_.range(0, ii / 50);
  const auto kind = random_.below(3);
  if (kind == 0 && m < p_.warps.size()) {
    const std::vector<int> allowed = allowed_slots(p_, life.op);
    slots[at(life.op)] = allowed[random_.below(allowed.size())];
  } else if (kind == 1) {
    keys[at(life.op)] = moment + more;
  } else {
    needed_before(s, life.op, moment - more, keys);
  }
  return true;
}

// All uses of v's result end by then, with all that they need.
void ListMoves::needed_before(const Schedule& s, int v, Cycle when, std::vector<Cycle>& keys) {
  std::vector<int> reached = successors_[at(v)];
  std::vector<char> seen(keys.size(), 0);
  for (const int u : reached) seen[at(u)] = 1;
  for (std::size_t i = 0; i < reached.size() && i < kMostPulled; ++i) {
    const int u = reached[i];
    const Cycle latest = when - p_.ops[at(u)].cycles;
    if (s.start[at(u)] <= latest) continue;
    keys[at(u)] = latest;
    for (const int x : predecessors_[at(u)])
      if (x != v && std::exchange(seen[at(x)], 1) == 0) reached.push_back(x);
  }
}

}  // namespace twill
