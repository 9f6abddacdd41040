// A schedule whose length is near to its interval, or is so but for a few cycles: one iteration is
// scheduled alone, as a project (Kolisch, EJOR 1996: the serial scheme), in a period that is longer
// than asked for. Ops are taken in an order, each as soon as it has room; then from the last end
// back, each as late as it has room; then forward again, as long as that makes it shorter (Li and
// Willis, EJOR 1992; Tormos and Lova, 2001). Orders of the same starts with some noise come next.
//
// Where a unit is never idle, its ops follow each other without a gap only where others make way by
// a few cycles. Here all starts come from the order and so they do. The list scheduler, which
// leaves what is placed where it is, finds such a schedule by luck (bench/results/hard.md).
// Iterations overlap at their ends alone; so where latencies are long beside the interval this
// finds nothing good.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/index.hpp"
#include "graph/list_scheduling/list_order.hpp"
#include "graph/list_scheduling/list_schedule.hpp"
#include "graph/list_scheduling/partial_schedule.hpp"
#include "graph/loop.hpp"
#include "graph/random.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

constexpr Cycle kLonger = 8;         // the period is longer by one in so many
constexpr int kJustifications = 6;   // pairs of passes
constexpr int kRoomTries = 40;       // places on a slot that are tried for an op
constexpr int kFirstTries = 40;      // orders until one gives a schedule
constexpr Cycle kTolerance = 1'000;  // an order may be worse than the one before by one in so many
constexpr int kStale = 300;          // orders without a gain until it begins anew
constexpr Cycle kNearBest = 128;     // near the best: by one in so many

class Justifier {
 public:
  Justifier(const Problem& problem, Cycle low, const ListScheduleOptions& options)
      : p_(problem),
        low_(low),
        options_(options),
        random_(options.seed),
        left_(options.effort * static_cast<std::int64_t>(problem.ops.size())),
        period_(std::min(low + low / kLonger + 1, problem.interval.most)),
        delays_(forced_delays(problem)),
        successors_(problem.ops.size()),
        predecessors_(problem.ops.size()) {
    for (const Edge& e : p_.edges) {
      if (e.distance != 0) continue;
      successors_[at(e.from)].push_back(e.to);
      predecessors_[at(e.to)].push_back(e.from);
    }
    const auto bounds = length_bounds(p_, low_);
    shortest_ = bounds.empty() ? 0 : bounds.front().value;
    find_busiest();
  }

  std::optional<Schedule> run() {
    std::optional<Schedule> now;
    Cycle value = 0;
    int stale = 0, failures = 0;
    while (left_ > 0 && !done()) {
      std::vector<int> order = now ? near(*now) : first_order();
      std::optional<Schedule> next = generate(period_, order);
      if (!next) {
        if (++failures == kFirstTries && !best_) return std::nullopt;
        continue;
      }
      const Cycle reached = justify(*next);
      if (!now || reached <= value + random_.range(0, value / kTolerance)) {
        if (!now || reached < value) stale = 0;
        now = std::move(next);
        value = reached;
      }
      if (++stale > kStale) {
        now.reset();
        stale = 0;
      }
    }
    return best_;
  }

 private:
  bool done() const {
    return best_ && best_->initiation_interval <= low_ && best_->length <= shortest_;
  }
  Cycle end(const Schedule& s, int v) const { return s.start[at(v)] + p_.ops[at(v)].cycles; }

  // The unit with the most to do for its capacity, and the ops that use it.
  void find_busiest() {
    Wide most = 0;
    for (int f = 0; f < static_cast<int>(p_.units.size()); ++f) {
      Wide work = 0;
      std::vector<int> users;
      for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
        const Wide before = work;
        for (const Reservation& r : p_.ops[at(v)].reservations)
          if (r.unit == f) work += Wide{r.length} * r.amount;
        if (work > before) users.push_back(v);
      }
      work /= p_.units[at(f)].capacity;
      if (work > most) {
        most = work;
        busiest_ = std::move(users);
        busiest_unit_ = f;
      }
    }
  }

  // All ops in an order of precedence, the smallest key first.
  std::vector<int> by_keys(const std::vector<Cycle>& keys) const {
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

  std::vector<int> first_order() {
    std::vector<int> order = height_order(p_);
    if (!std::exchange(begun_, true)) return order;
    std::vector<Cycle> keys(order.size());
    const auto ops = static_cast<Cycle>(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      keys[at(order[i])] = static_cast<Cycle>(i) + random_.range(-ops / 8 - 1, ops / 8 + 1);
    return by_keys(keys);
  }

  // That of the starts, with noise: in a window of time, everywhere, or such that an op of the
  // busiest unit comes sooner, with all that it needs.
  std::vector<int> near(const Schedule& s) {
    std::vector<Cycle> keys = s.start;
    const int kind = static_cast<int>(random_.below(4));
    if (kind == 0 && sooner(s, keys)) return by_keys(keys);
    const Cycle noise = s.length / random_.range(20, 400) + 1;
    const Cycle centre = random_.range(0, s.length), width = s.length / random_.range(2, 20) + 1;
    const auto share = random_.range(1, 10);
    for (Cycle& key : keys)
      if ((kind == 1 || (centre - width <= key && key < centre + width)) &&
          random_.range(0, 9) < share)
        key += random_.range(-noise, noise);
    return by_keys(keys);
  }

  bool sooner(const Schedule& s, std::vector<Cycle>& keys) {
    std::vector<int> users = busiest_;
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

  // Ops in their order, each as soon as it has room.
  std::optional<Schedule> generate(Cycle ii, const std::vector<int>& order) {
    return place_all(ii, order, *earliest_starts(p_, ii, delays_), false);
  }
  // As late, by a deadline.
  std::optional<Schedule> generate_late(Cycle ii, const std::vector<int>& order, Cycle deadline) {
    return place_all(ii, order, *latest_starts(p_, ii, deadline, delays_), true);
  }

  std::optional<Schedule> place_all(Cycle ii, const std::vector<int>& order,
                                    const std::vector<Cycle>& ends, bool late) {
    PartialSchedule state(p_, ii);
    if (left_ > 0 && options_.stop && options_.stop()) left_ = 0;
    if (left_ <= 0) return std::nullopt;
    for (const int v : order) {
      if (--left_ < 0 || !place(state, v, ends[at(v)], late)) return std::nullopt;
    }
    return state.schedule();
  }

  // On the slot where it has room first (last); of several on the one with the least to do.
  bool place(PartialSchedule& state, int v, Cycle outermost, bool late) {
    int slot = -1;
    Cycle start = 0;
    for (const int w : state.slots_of(v)) {
      const PartialSchedule::Window window = state.window(v, w);
      Cycle first = outermost, last = outermost;
      if (late) {
        if (window.after) last = std::min(last, window.last);
        first = last - state.ii() + 1;
        if (window.before) first = std::max(first, window.first);
      } else {
        if (window.before) first = std::max(first, window.first);
        last = first + state.ii() - 1;
        if (window.after) last = std::min(last, window.last);
      }
      for (int tries = 0; tries < kRoomTries; ++tries) {
        const auto t =
            late ? state.last_room(v, w, first, last) : state.first_room(v, w, first, last);
        if (!t) break;
        if (slot >= 0 && (late ? *t < start : *t > start)) break;
        if (slot >= 0 && *t == start && state.load(w) >= state.load(slot)) break;
        state.place(v, w, *t);
        const bool fits = !state.clash();
        state.remove(v);
        if (fits) {
          slot = w;
          start = *t;
          break;
        }
        (late ? last : first) = late ? *t - 1 : *t + 1;
      }
    }
    if (slot < 0) return false;
    state.place(v, slot, start);
    return true;
  }

  std::vector<int> by_start(const Schedule& s) const { return by_keys(s.start); }
  // The last end first; what is needed comes after what needs it.
  std::vector<int> by_end(const Schedule& s) const {
    std::vector<int> order(p_.ops.size());
    for (std::size_t v = 0; v < order.size(); ++v) order[v] = static_cast<int>(v);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::tuple(-end(s, a), -s.start[at(a)], -a) <
             std::tuple(-end(s, b), -s.start[at(b)], -b);
    });
    return order;
  }

  // When v uses the busiest unit: from its first cycle there to its last.
  std::pair<Cycle, Cycle> use(const Schedule& s, int v) const {
    Cycle first = kMaxInterval, last = 0;
    for (const Reservation& r : p_.ops[at(v)].reservations)
      if (r.unit == busiest_unit_) {
        first = std::min(first, r.offset);
        last = std::max(last, r.offset + r.length);
      }
    return {s.start[at(v)] + first, s.start[at(v)] + last};
  }

  // From the first use of the busiest unit to the end of the last: where it has one instance, I is
  // no smaller with these orders.
  Cycle span(const Schedule& s) const {
    if (p_.units[at(busiest_unit_)].capacity > 1) return low_;
    Cycle begin = s.length, finish = 0;
    for (const int v : busiest_) {
      const auto [first, last] = use(s, v);
      begin = std::min(begin, first);
      finish = std::max(finish, last);
    }
    return finish - begin;
  }

  // `s` as short as justification makes it. Returns its value: less is better.
  Cycle justify(Schedule& s) {
    Cycle least = span(s);
    offer(s);
    for (int k = 0; k < kJustifications && left_ > 0; ++k) {
      const auto late = generate_late(s.initiation_interval, by_end(s), s.length);
      if (!late) break;
      least = std::min(least, span(*late));
      offer(*late);
      auto soon = generate(s.initiation_interval, by_start(*late));
      if (!soon || soon->length >= s.length) break;
      s = std::move(*soon);
      least = std::min(least, span(s));
      offer(s);
    }
    const Cycle value = s.length + 2 * std::max<Cycle>(0, least - low_);
    if (!value_ || value < *value_) value_ = value;
    if (value <= *value_ + *value_ / kNearBest) overlapped(s);
    return value;
  }

  // The same order in a period as short as can be, in which iterations overlap.
  void overlapped(const Schedule& s) {
    auto soon = generate(low_, by_start(s));
    if (!soon) return;
    offer(*soon);
    const auto late = generate_late(low_, by_end(*soon), soon->length);
    if (!late) return;
    if (const auto again = generate(low_, by_start(*late))) offer(*again);
  }

  // Is it the best, with its orders?
  void offer(const Schedule& s) {
    const Cycle most = best_ ? best_->initiation_interval : s.initiation_interval;
    if (best_ && (span(s) > most || (span(s) == most && s.length >= best_->length))) return;
    if (best_ && most == low_ && s.length >= best_->length) return;
    auto tight = tighten(p_, p_, s, low_, s.initiation_interval, options_.stop);
    if (!tight || verify(p_, *tight)) return;
    if (!best_ || std::pair(tight->initiation_interval, tight->length) <
                      std::pair(best_->initiation_interval, best_->length))
      best_ = std::move(tight);
  }

  const Problem& p_;
  Cycle low_, shortest_ = 0;
  const ListScheduleOptions& options_;
  SplitMix64 random_;
  std::int64_t left_;
  Cycle period_;
  std::vector<Cycle> delays_;
  std::vector<std::vector<int>> successors_, predecessors_;
  std::vector<int> busiest_;
  int busiest_unit_ = 0;
  bool begun_ = false;
  std::optional<Cycle> value_;
  std::optional<Schedule> best_;
};

}  // namespace

std::optional<Schedule> list_justified(const Problem& problem, Cycle low,
                                       const ListScheduleOptions& options) {
  if (!list_tries(problem) || problem.units.empty() || low > problem.interval.most)
    return std::nullopt;
  return Justifier(problem, low, options).run();
}

}  // namespace twill
