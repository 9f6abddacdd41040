// as list_justify.cpp, where registers and memories bind.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/divide.hpp"
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
constexpr int kJustifications = 4;   // pairs of passes
constexpr int kRoomTries = 40;       // places on a slot that are tried for an op
constexpr int kSmallSteps = 10;
constexpr Cycle kTolerance = 1'000;  // an order may be worse than the one before by one in so many
constexpr int kStale = 300;          // orders without a gain until it begins anew
constexpr Cycle kNearBest = 128;     // near the best: by one in so many
constexpr Wide kPriceUnit = 1'000;   // of prices: 1 cycle for an amount of 1 in 1 cycle
constexpr Cycle kMostPrice = 1'000;
constexpr Wide kFirstPrice = 50;
constexpr int kPatience = 20;
constexpr int kMoves = 60'000;

struct Listed {
  Schedule schedule;
  Wide excess = 0;
};

class StoredJustifier {
 public:
  StoredJustifier(const Problem& problem, Cycle low, const ListScheduleOptions& options)
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
    earliest_ = *earliest_starts(p_, period_, delays_);
    latest_ = *latest_starts(p_, period_, low_, delays_);
  }

  std::optional<Schedule> run() {
    std::optional<Listed> now;
    Cycle value = 0;
    int stale = 0;
    while (left_ > 0 && !done()) {
      Pass pass;
      std::vector<int> order;
      if (now) {
        std::vector<int> slots = now->schedule.warp;
        pass.expected = now->schedule.start;
        const bool relieved = now->excess > 0 && random_.below(2) == 0 && relieve(now->schedule, slots, order);
        if (!relieved) {
          order = near(now->schedule);
          slots = new_plan(std::move(slots));
        }
        if (relieved || random_.below(4) != 0) pass.planned = slots;
        if (random_.below(4) != 0) pass.reach = random_reach();
      } else {
        order = pressure_order();
      }
      std::optional<Listed> next = generate(period_, order, pass);
      if (!next) {
        ++no_room_;
        continue;
      }
      const Cycle reached = justify(*next);
      if (now) value = value_of(*now);
      if (!now || reached <= value + random_.range(0, value / kTolerance)) {
        if (!now || reached < value) stale = 0;
        now = std::move(next);
        value = reached;
      }
      ++rounds_;
      if (getenv("DBG") && rounds_ % 100 == 0)
        fprintf(stderr, "%d no room %d late %d of %d: value %ld len %ld span %ld excess %ld price %ld tights %d\n", rounds_, no_room_,
                no_late_, lates_, (long)value, (long)now->schedule.length, (long)span(now->schedule),
                (long)now->excess, (long)excess_price_, tights_);
      if (++stale > kStale) {
        now.reset();
        stale = 0;
      }
    }
    return best_;
  }

 private:
  /// How ops are placed.
  struct Pass {
    bool late = false;
    std::vector<int> planned;     // slots, or empty
    std::vector<Cycle> expected;  // starts, or empty
    Cycle reach = kMaxInterval;   // no op sooner (later) than expected by more
  };
  Cycle random_reach() { return random_.range(0, low_ / random_.range(2, 40)); }

  bool done() const {
    return best_ && best_->initiation_interval <= low_ && best_->length <= shortest_;
  }
  Cycle end(const Schedule& s, int v) const { return s.start[at(v)] + p_.ops[at(v)].cycles; }

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

  std::vector<int> pressure_order() {
    const int n = static_cast<int>(p_.ops.size());
    std::vector<Cycle> dt(p_.ops.size(), 1);
    for (const int v : busiest_)
      for (const Reservation& r : p_.ops[at(v)].reservations)
        if (r.unit == busiest_unit_) dt[at(v)] = std::max(dt[at(v)], r.length);
    // amounts in thousandths of what there is
    Amount capacity = 0;
    for (const WarpSlot& w : p_.warps) capacity += w.registers;
    std::vector<Amount> amount(p_.ops.size(), 0);
    for (int v = 0; v < n; ++v) {
      if (capacity > 0) amount[at(v)] += p_.ops[at(v)].registers * 1000 / capacity;
      for (const Footprint& f : p_.ops[at(v)].footprints)
        if (p_.memories[at(f.memory)].capacity > 0)
          amount[at(v)] += f.amount * 1000 / p_.memories[at(f.memory)].capacity;
    }
    const Amount target = 500;
    std::vector<int> order = height_order(p_), pos(p_.ops.size());
    std::vector<Amount> change(p_.ops.size() + 1);
    const auto cost = [&] {
      for (int i = 0; i < n; ++i) pos[at(order[at(i)])] = i;
      std::fill(change.begin(), change.end(), 0);
      for (int v = 0; v < n; ++v) {
        int last = -1;
        for (const int u : successors_[at(v)]) last = std::max(last, pos[at(u)]);
        if (last < 0) continue;
        change[at(pos[at(v)])] += amount[at(v)];
        change[at(last) + 1] -= amount[at(v)];
      }
      Wide sum = 0;
      Amount now = 0;
      for (int i = 0; i < n; ++i) {
        now += change[at(i)];
        sum += Wide{std::max<Amount>(0, now - target) * 16 + now} * dt[at(order[at(i)])];
      }
      return sum;
    };
    Wide now = cost();
    const Wide hot = now / 1000;
    const auto move = [&](int from, int to) {
      const auto b = order.begin();
      if (from < to)
        std::rotate(b + from, b + from + 1, b + to + 1);
      else
        std::rotate(b + to, b + from, b + from + 1);
    };
    for (int k = kMoves; k > 0; --k) {
      const int v = static_cast<int>(random_.below(p_.ops.size()));
      int low = 0, high = n - 1;
      for (const int u : predecessors_[at(v)]) low = std::max(low, pos[at(u)] + 1);
      for (const int u : successors_[at(v)]) high = std::min(high, pos[at(u)] - 1);
      if (low >= high) continue;
      const int from = pos[at(v)], to = static_cast<int>(random_.range(low, high));
      if (from == to) continue;
      move(from, to);
      const Wide next = cost();
      if (next <= now + hot * k / kMoves) {
        now = next;
      } else {
        move(to, from);
        for (int i = 0; i < n; ++i) pos[at(order[at(i)])] = i;
      }
    }
    if (getenv("DBG")) fprintf(stderr, "pressure cost %ld\n", (long)now);
    return order;
  }

  // What is live where a register file or a memory overflows: one of it goes to another slot, or is
  // needed no longer, or not yet.
  bool relieve(const Schedule& s, std::vector<int>& slots, std::vector<int>& order) {
    struct Life {
      int op;
      Cycle begin, length;
      Amount amount;
    };
    const Cycle ii = s.initiation_interval;
    std::vector<std::vector<Life>> stores(p_.warps.size() + p_.memories.size());
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
      Cycle length = 0;
      for (const Edge& e : p_.edges)
        if (e.from == v)
          length = std::max(length, s.start[at(e.to)] + e.distance * ii + e.hold - s.start[at(v)]);
      if (length == 0) continue;
      const Op& op = p_.ops[at(v)];
      if (op.registers > 0)
        stores[at(s.warp[at(v)])].push_back({v, s.start[at(v)], length, op.registers});
      for (const Footprint& f : op.footprints)
        stores[p_.warps.size() + at(f.memory)].push_back({v, s.start[at(v)], length, f.amount});
    }
    // A moment at which it overflows: where a life begins, any.
    std::vector<std::pair<std::size_t, Cycle>> moments;
    for (std::size_t m = 0; m < stores.size(); ++m) {
      const Amount capacity =
          m < p_.warps.size() ? p_.warps[m].registers : p_.memories[m - p_.warps.size()].capacity;
      for (const Life& one : stores[m]) {
        Amount sum = 0;
        for (const Life& other : stores[m]) sum += other.amount * copies(other.begin, other.length, one.begin, ii);
        if (sum > capacity) moments.emplace_back(m, one.begin);
      }
    }
    if (moments.empty()) return false;
    const auto [m, when] = moments[random_.below(moments.size())];
    std::vector<int> live;
    std::vector<Cycle> since;
    for (const Life& one : stores[m])
      if (copies(one.begin, one.length, when, ii) > 0) {
        live.push_back(one.op);
        since.push_back(mod(when - one.begin, ii));
      }
    const std::size_t chosen = random_.below(live.size());
    const int v = live[chosen];
    std::vector<Cycle> keys = s.start;
    const auto kind = random_.below(3);
    if (kind == 0 && m < p_.warps.size()) {
      const std::vector<int> allowed = allowed_slots(p_, v);
      slots[at(v)] = allowed[random_.below(allowed.size())];
    } else if (kind == 1) {
      keys[at(v)] += since[chosen] + random_.range(0, ii / 50);
    } else {
      const Cycle moment = s.start[at(v)] + since[chosen];
      std::vector<int> reached;
      std::vector<char> seen(keys.size(), 0);
      for (const int u : successors_[at(v)])
        if (s.start[at(u)] + p_.ops[at(u)].cycles > moment && std::exchange(seen[at(u)], 1) == 0)
          reached.push_back(u);
      const Cycle by_more = random_.range(0, ii / 50);
      for (std::size_t i = 0; i < reached.size(); ++i) {
        const int u = reached[i];
        const Cycle latest = moment - p_.ops[at(u)].cycles - by_more;
        if (i >= 50 || s.start[at(u)] <= latest) continue;
        keys[at(u)] = std::min(keys[at(u)], latest);
        for (const int x : predecessors_[at(u)])
          if (std::exchange(seen[at(x)], 1) == 0) reached.push_back(x);
      }
    }
    order = by_keys(keys);
    return true;
  }
  // Of a life, at a moment.
  static Amount copies(Cycle begin, Cycle length, Cycle when, Cycle ii) {
    return length / ii + (mod(when - begin, ii) < length % ii ? 1 : 0);
  }

  std::vector<int> new_plan(std::vector<int> slots) {
    if (random_.below(2) == 0) return slots;
    for (int k = static_cast<int>(random_.range(1, 4)); k > 0; --k) {
      const std::size_t v = random_.below(p_.ops.size());
      const std::vector<int> allowed = allowed_slots(p_, static_cast<int>(v));
      slots[v] = allowed[random_.below(allowed.size())];
    }
    return slots;
  }

  // That of the starts, with noise: in a window of time, everywhere, or such that an op of the
  // busiest unit comes sooner, with all that it needs.
  std::vector<int> near(const Schedule& s) {
    std::vector<Cycle> keys = s.start;
    const int kind = static_cast<int>(random_.below(6));
    if (kind == 0 && sooner(s, keys)) return by_keys(keys);
    if (kind >= 4) {
      shorter(s, kind == 4, keys);
      return by_keys(keys);
    }
    const Cycle noise = s.length / random_.range(20, 400) + 1;
    const Cycle centre = random_.range(0, s.length), width = s.length / random_.range(2, 20) + 1;
    const auto share = random_.range(1, 10);
    for (Cycle& key : keys)
      if ((kind == 1 || (centre - width <= key && key < centre + width)) &&
          random_.range(0, 9) < share)
        key += random_.range(-noise, noise);
    return by_keys(keys);
  }

  // What would begin too late for a shorter one, or too early if its begin were cut off.
  void shorter(const Schedule& s, bool at_end, std::vector<Cycle>& keys) {
    const Cycle by = random_.range(1, std::max<Cycle>(1, std::min(s.length - shortest_, low_ / 20)));
    for (std::size_t v = 0; v < keys.size(); ++v)
      keys[v] = at_end ? std::min(keys[v], latest_[v] + s.length - low_ - by)
                       : std::max(keys[v], earliest_[v] + by);
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

  std::optional<Listed> generate(Cycle ii, const std::vector<int>& order, const Pass& pass) {
    return place_all(ii, order, *earliest_starts(p_, ii, delays_), pass);
  }
  std::optional<Listed> generate_late(Cycle ii, const std::vector<int>& order, Cycle deadline,
                                      const Pass& pass) {
    return place_all(ii, order, *latest_starts(p_, ii, deadline, delays_), pass);
  }

  std::optional<Listed> place_all(Cycle ii, const std::vector<int>& order,
                                  const std::vector<Cycle>& ends, const Pass& pass) {
    if (left_ > 0 && options_.stop && options_.stop()) left_ = 0;
    if (left_ <= 0) return std::nullopt;
    PartialSchedule state(p_, ii, true);
    if (!pass.expected.empty()) state.expect(pass.expected);
    if (!pass.planned.empty()) state.plan(pass.planned);
    slot_price_ = random_.range(0, kMostPrice);
    for (const int v : order)
      if (--left_ < 0 || !place(state, v, ends[at(v)], pass)) return std::nullopt;
    return Listed{state.schedule(), state.excess()};
  }

  // Of the slots the one with the least of being late and of what overflows.
  bool place(PartialSchedule& state, int v, Cycle outermost, const Pass& pass) {
    int slot = -1;
    Cycle start = 0;
    std::tuple<Wide, Cycle> least;
    const bool late = pass.late;
    std::vector<int> slots = state.slots_of(v);
    if (!pass.planned.empty()) slots = {pass.planned[at(v)]};
    if (!pass.expected.empty() && pass.reach < kMaxInterval) {
      const Cycle expected = pass.expected[at(v)];
      outermost = late ? std::min(outermost, expected + pass.reach)
                       : std::max(outermost, expected - pass.reach);
    }
    for (const int w : slots) {
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
        state.place(v, w, *t);
        const bool fits = !state.clash();
        const Wide excess = fits ? state.new_excess() : 0;
        state.remove(v);
        if (fits) {
          const Cycle away = late ? outermost - *t : *t - outermost;
          const std::tuple<Wide, Cycle> cost{Wide{away} * kPriceUnit + excess * slot_price_,
                                             state.load(w)};
          if (slot < 0 || cost < least) {
            slot = w;
            start = *t;
            least = cost;
          }
          break;
        }
        const Cycle step = tries < kSmallSteps ? 1 : Cycle{1} << std::min(tries - kSmallSteps, 20);
        (late ? last : first) = late ? *t - step : *t + step;
      }
    }
    if (slot < 0) return false;
    state.place(v, slot, start);
    return true;
  }

  std::vector<int> by_start(const Schedule& s) const { return by_keys(s.start); }
  std::vector<int> by_end(const Schedule& s) const {
    std::vector<int> order(p_.ops.size());
    for (std::size_t v = 0; v < order.size(); ++v) order[v] = static_cast<int>(v);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::tuple(-end(s, a), -s.start[at(a)], -a) <
             std::tuple(-end(s, b), -s.start[at(b)], -b);
    });
    return order;
  }

  std::pair<Cycle, Cycle> use(const Schedule& s, int v) const {
    Cycle first = kMaxInterval, last = 0;
    for (const Reservation& r : p_.ops[at(v)].reservations)
      if (r.unit == busiest_unit_) {
        first = std::min(first, r.offset);
        last = std::max(last, r.offset + r.length);
      }
    return {s.start[at(v)] + first, s.start[at(v)] + last};
  }

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

  Cycle value_of(const Listed& s) const {
    return s.schedule.length + 2 * std::max<Cycle>(0, span(s.schedule) - low_) +
           static_cast<Cycle>(std::min<Wide>(s.excess * excess_price_ / kPriceUnit, kMaxInterval));
  }

  Cycle justify(Listed& s) {
    Listed now = s;
    Cycle value = value_of(s);
    Wide least_excess = s.excess;
    const auto look = [&](const Listed& one) {
      least_excess = std::min(least_excess, one.excess);
      if (one.excess == 0) offer(one.schedule);
      const Cycle next = value_of(one);
      if (next >= value) return false;
      value = next;
      s = one;
      return true;
    };
    if (s.excess == 0) offer(s.schedule);
    for (int k = 0; k < kJustifications && left_ > 0; ++k) {
      Pass pass{true, now.schedule.warp, now.schedule.start, kMaxInterval};
      auto late = generate_late(now.schedule.initiation_interval, by_end(now.schedule),
                                now.schedule.length, pass);
      ++lates_;
      if (!late) {
        ++no_late_;
        break;
      }
      const bool better = look(*late);
      pass = {false, {}, late->schedule.start, random_reach()};
      if (random_.below(4) != 0) pass.planned = late->schedule.warp;
      auto soon = generate(now.schedule.initiation_interval, by_start(late->schedule), pass);
      if (!soon) break;
      now = std::move(*soon);
      if (!look(now) && !better) break;
    }
    if (least_excess == 0)
      ++without_excess_, with_excess_ = 0;
    else
      ++with_excess_, without_excess_ = 0;
    if (with_excess_ >= kPatience) {
      excess_price_ += excess_price_ / 4 + 1;
      with_excess_ = 0;
    } else if (without_excess_ >= kPatience) {
      excess_price_ -= excess_price_ / 5;
      without_excess_ = 0;
    }
    if (!value_ || value < *value_) value_ = value;
    if (value <= *value_ + *value_ / kNearBest) overlapped(s.schedule);
    return value;
  }

  // The same order in a period as short as can be, in which iterations overlap.
  void overlapped(const Schedule& s) {
    auto soon = generate(low_, by_start(s), {false, s.warp, s.start, kMaxInterval});
    if (!soon) return;
    if (soon->excess == 0) offer(soon->schedule);
    const Schedule& t = soon->schedule;
    const auto late = generate_late(low_, by_end(t), t.length, {true, t.warp, t.start, kMaxInterval});
    if (!late) return;
    if (late->excess == 0) offer(late->schedule);
    const Schedule& u = late->schedule;
    const auto again = generate(low_, by_start(u), {false, u.warp, u.start, random_reach()});
    if (again && again->excess == 0) offer(again->schedule);
  }

  // Is it the best, with its orders?
  void offer(const Schedule& s) {
    const Cycle most = best_ ? best_->initiation_interval : s.initiation_interval;
    if (best_ && (span(s) > most || (span(s) == most && s.length >= best_->length))) return;
    if (best_ && most == low_ && s.length >= best_->length) return;
    ++tights_;
    auto tight = tighten(p_, p_, s, low_, s.initiation_interval, options_.stop);
    if (!tight || verify(p_, *tight)) return;
    if (!best_ || std::pair(tight->initiation_interval, tight->length) <
                      std::pair(best_->initiation_interval, best_->length)) {
      best_ = std::move(tight);
      if (getenv("DBG"))
        fprintf(stderr, "  best I %ld L %ld\n", (long)best_->initiation_interval, (long)best_->length);
    }
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
  std::vector<Cycle> earliest_, latest_;  // in the period; latest_ where L = low_
  int tights_ = 0;
  std::optional<Cycle> value_;
  std::optional<Schedule> best_;
  Wide excess_price_ = kFirstPrice, slot_price_ = 0;
  int with_excess_ = 0, without_excess_ = 0;
  int rounds_ = 0, no_room_ = 0, lates_ = 0, no_late_ = 0;
};

}  // namespace

std::optional<Schedule> list_stored(const Problem& problem, Cycle low,
                                    const ListScheduleOptions& options) {
  if (!list_tries(problem) || problem.units.empty() || low > problem.interval.most)
    return std::nullopt;
  return StoredJustifier(problem, low, options).run();
}

}  // namespace twill
