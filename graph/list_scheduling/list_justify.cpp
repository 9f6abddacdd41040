// A schedule whose length is near to its interval, or is so but for a few cycles: one iteration is
// scheduled alone, as a project (Kolisch, EJOR 1996: the serial scheme), in a period that is longer
// than asked for. Ops are taken in an order, each as soon as it has room; then from the last end
// back, each as late as it has room; then forward again, as long as that makes it better (Li and
// Willis, EJOR 1992; Tormos and Lova, 2001). Orders and slots beside it come next (list_moves.cpp).
//
// Where a unit is never idle, its ops follow each other without a gap only where others make way by
// a few cycles. Here all starts come from the order and so they do. The list scheduler, which
// leaves what is placed where it is, finds such a schedule by luck (bench/results/hard.md).
// Iterations overlap at their ends alone; so where latencies are long beside the interval this
// finds nothing good.
//
// Registers and memories may overflow. What is placed first would fill them before the uses of its
// results have a place, and all orders ended there. So what overflows has a price, which rises
// until nothing does (strategic oscillation: Glover, EJOR 1995), and the first order is one in
// which little is held. What an op will hold, and what it has to wait for, is known from the
// schedule before: the starts of uses that have no place yet, and, but for passes that choose them,
// slots.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/index.hpp"
#include "graph/list_scheduling/list_moves.hpp"
#include "graph/list_scheduling/list_order.hpp"
#include "graph/list_scheduling/list_schedule.hpp"
#include "graph/list_scheduling/partial_schedule.hpp"
#include "graph/loop.hpp"
#include "graph/random.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

constexpr Cycle kLonger = 8;              // the period is longer by one in so many
constexpr int kJustifications = 4;        // pairs of passes
constexpr int kRoomTries = 40;            // places on a slot that are tried for an op
constexpr int kSmallSteps = 10;           // these are a cycle apart, the others farther and farther
constexpr int kFirstTries = 40;           // orders until one has room
constexpr std::int64_t kTrial = 200'000;  // after so many ops placed, and
constexpr int kTrialOrders = 40;          // more orders than this, it ends
constexpr std::int64_t kMostEffort = 6;   // times what is asked for, as long as it gains
constexpr Cycle kFar = 20;                // where I is above what is asked for by one in so many
constexpr std::size_t kElite = 8;
constexpr Cycle kNearShortest = 512;  // near the bound on L: by one in so many
constexpr Cycle kOverlap = 100;       // a shorter period: longer than asked for by one in so many
constexpr Cycle kMostIdlePrice = 2;   // of an idle cycle of the busiest unit, in cycles of L
constexpr Cycle kTolerance = 500;     // an order may be worse than the one before by one in so many
constexpr int kStale = 150;           // orders without a gain until it begins anew
constexpr Cycle kNearBest = 128;      // near the best: by one in so many
constexpr Cycle kPromising = 512;     // of what is tightened: the same
constexpr Wide kPriceUnit = 1'000;   // of prices: a cycle of length for an amount of 1 in one cycle
constexpr Cycle kMostPrice = 1'000;  // when slots are chosen
constexpr Wide kFirstPrice = 50;     // of a whole schedule
constexpr Wide kHighestPrice = 1'000'000;
// Orders with, or without, an overflow until that changes: so many for 200 ops, fewer of more.
constexpr std::size_t kPatience = 20, kLeastPatience = 4;

/// A schedule but for what overflows: amount x cycles.
struct Soft {
  Schedule schedule;
  Wide excess = 0;
};

class Justifier {
 public:
  Justifier(const Problem& problem, Cycle low, const ListScheduleOptions& options)
      : p_(problem),
        low_(low),
        shortest_(bound(problem, low)),
        options_(options),
        random_(options.seed),
        effort_(options.effort * static_cast<std::int64_t>(problem.ops.size())),
        given_(effort_),
        left_(effort_),
        period_(std::min(low + low / kLonger + 1, problem.interval.most)),
        delays_(forced_delays(problem)),
        moves_(problem, period_, low, shortest_, random_) {}

  std::optional<Schedule> run() {
    std::optional<Soft> now;
    int stale = 0, failures = 0, orders = 0;
    while (left_ > 0 && !done()) {
      // Where a unit of several instances is nearly full, this is not the way.
      if (++orders > kTrialOrders && given_ - left_ > kTrial && is_far()) break;
      if (!now) idle_price_ = orders == 1 ? kMostIdlePrice : random_.range(1, kMostIdlePrice);
      std::optional<Soft> next = now ? near(*now) : begin();
      if (!next) {
        if (++failures == kFirstTries && !best_) return std::nullopt;
        continue;
      }
      failures = 0;
      const Cycle reached = justify(*next);
      const Cycle value = now ? value_of(*now) : reached;  // prices change
      if (!now || reached <= value + random_.range(0, value / kTolerance)) {
        if (!now || reached < value) stale = 0;
        now = std::move(next);
      }
      if (++stale > kStale) {
        keep(std::move(*now));
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
    std::vector<int> slots = {};       ///< or empty: each where it is best
    std::vector<Cycle> expected = {};  ///< starts, or empty
    Cycle reach = kMaxInterval;        ///< sooner (later) than expected by so much at the most
  };

  static Cycle bound(const Problem& problem, Cycle low) {
    const auto bounds = length_bounds(problem, low);
    return bounds.empty() ? 0 : bounds.front().value;
  }

  bool done() const {
    return best_ && best_->initiation_interval <= low_ && best_->length <= shortest_;
  }
  // Is all that is left that iterations overlap?
  bool is_short() const {
    return !elite_.empty() && elite_.front().excess == 0 &&
           elite_.front().schedule.length <= shortest_ + shortest_ / kNearShortest;
  }
  bool is_far() const { return !best_ || best_->initiation_interval > low_ + low_ / kFar; }
  Cycle end(const Schedule& s, int v) const { return s.start[at(v)] + p_.ops[at(v)].cycles; }
  Cycle random_reach() { return random_.range(0, low_ / random_.range(2, 40)); }

  // From nothing, from two of what there was, or from one of them in a period that is shorter, in
  // which iterations overlap as they have to.
  std::optional<Soft> begin() {
    now_period_ = period_;
    const bool crosses = random_.below(2) == 0, overlaps = random_.below(2) == 0;
    std::optional<Soft> next;
    if (overlaps && is_short()) {
      const Schedule& s = elite_[random_.below(elite_.size())].schedule;
      now_period_ = std::min(period_, low_ + random_.range(0, low_ / kOverlap));
      next = generate(now_period_, by_start(s), {false, s.warp, s.start});
    } else if (crosses) {
      next = crossed();
    }
    if (next) return next;
    now_period_ = period_;
    return first();
  }

  std::optional<Soft> first() {
    std::vector<int> order = pressure_order(p_, random_);
    if (!elite_.empty() && random_.below(2) == 0) order = moves_.urgent_first(order);
    return generate(now_period_, order, {});
  }

  // The best of what was gone on from, one for each begin.
  void keep(Soft&& one) {
    elite_.push_back(std::move(one));
    std::stable_sort(elite_.begin(), elite_.end(), [&](const Soft& a, const Soft& b) {
      return std::pair(a.excess, a.schedule.length) < std::pair(b.excess, b.schedule.length);
    });
    if (elite_.size() > kElite) elite_.pop_back();
  }
  // As in one of them up to a moment, and then as in another one (one-point crossover: Hartmann,
  // Naval Research Logistics 45, 1998, where the point is one of the order).
  std::optional<Soft> crossed() {
    if (elite_.size() < 2) return std::nullopt;
    const std::size_t i = random_.below(elite_.size());
    const std::size_t j = (i + 1 + random_.below(elite_.size() - 1)) % elite_.size();
    const Schedule &first = elite_[i].schedule, &second = elite_[j].schedule;
    const Cycle moment = random_.range(0, first.length);
    Pass pass{false, first.warp, first.start};
    for (std::size_t v = 0; v < p_.ops.size(); ++v)
      if (first.start[v] >= moment) {
        pass.expected[v] = std::max(moment, second.start[v]);
        pass.slots[v] = second.warp[v];
      }
    return generate(now_period_, moves_.by_keys(pass.expected), pass);
  }

  std::optional<Soft> near(const Soft& now) {
    ListMove move = moves_.near(now.schedule, now.excess > 0);
    Pass pass{false, std::move(move.slots), std::move(move.expected)};
    if (random_.below(4) != 0) pass.reach = random_reach();
    return generate(now_period_, move.order, pass);
  }

  // Ops in their order, each as soon as it has room.
  std::optional<Soft> generate(Cycle ii, const std::vector<int>& order, const Pass& pass) {
    return place_all(ii, order, *earliest_starts(p_, ii, delays_), pass);
  }

  // From the end of `s` back, as late, on the same slots. (An op that hands over to one that is
  // placed makes it wait, where that may have no room to: that has to be known before.)
  std::optional<Soft> generate_late(const Schedule& s) {
    const Cycle ii = s.initiation_interval;
    return place_all(ii, by_end(s), *latest_starts(p_, ii, s.length, delays_),
                     {true, s.warp, s.start});
  }

  std::optional<Soft> place_all(Cycle ii, const std::vector<int>& order,
                                const std::vector<Cycle>& ends, const Pass& pass) {
    if (left_ > 0 && options_.stop && options_.stop()) left_ = 0;
    if (left_ <= 0) return std::nullopt;
    PartialSchedule state(p_, ii, PartialSchedule::Storage::may_overflow);
    if (!pass.expected.empty()) state.expect(pass.expected);
    if (!pass.slots.empty()) state.plan(pass.slots);
    slot_price_ = random_.range(0, kMostPrice);
    for (const int v : order)
      if (--left_ < 0 || !place(state, v, ends[at(v)], pass)) return std::nullopt;
    return Soft{state.schedule(), state.excess()};
  }

  // Of the slots on the one where it is not late (soon) by much and little overflows; of equal ones
  // on that with the least to do.
  bool place(PartialSchedule& state, int v, Cycle outermost, const Pass& pass) {
    if (!pass.expected.empty() && pass.reach < kMaxInterval) {
      const Cycle expected = pass.expected[at(v)];
      outermost = pass.late ? std::min(outermost, expected + pass.reach)
                            : std::max(outermost, expected - pass.reach);
    }
    if (!pass.slots.empty())
      return stay(state, v, pass.slots[at(v)], outermost, pass.late).has_value();
    int slot = -1;
    Cycle start = 0;
    std::pair<Wide, Cycle> least;
    for (const int w : state.slots_of(v)) {
      const auto found = stay(state, v, w, outermost, pass.late);
      if (!found) continue;
      state.remove(v);
      const auto [t, excess] = *found;
      const Cycle away = pass.late ? outermost - t : t - outermost;
      const std::pair<Wide, Cycle> cost{Wide{away} * kPriceUnit + excess * slot_price_,
                                        state.load(w)};
      if (slot >= 0 && cost >= least) continue;
      slot = w;
      start = t;
      least = cost;
    }
    if (slot < 0) return false;
    state.place(v, slot, start);
    return true;
  }

  // v at the first (last) start on slot w at which it has room, and what overflows then.
  std::optional<std::pair<Cycle, Wide>> stay(PartialSchedule& state, int v, int w, Cycle outermost,
                                             bool late) const {
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
      if (!t) return std::nullopt;
      state.place(v, w, *t);
      if (!state.clash()) return std::pair(*t, state.new_excess());
      state.remove(v);
      const Cycle step = tries < kSmallSteps ? 1 : Cycle{1} << std::min(tries - kSmallSteps, 20);
      (late ? last : first) = late ? *t - step : *t + step;
    }
    return std::nullopt;
  }

  std::vector<int> by_start(const Schedule& s) const { return moves_.by_keys(s.start); }
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

  // From the first use of the busiest unit to the end of the last: where it has one instance, I is
  // no smaller with these orders.
  Cycle span(const Schedule& s) const {
    if (p_.units[at(moves_.busiest().unit)].capacity > 1) return low_;
    Cycle begin = s.length, finish = 0;
    for (const int v : moves_.busiest().users) {
      const auto [first, last] = moves_.use(s, v);
      begin = std::min(begin, first);
      finish = std::max(finish, last);
    }
    return finish - begin;
  }

  // Less is better.
  Cycle value_of(const Soft& s) const {
    return s.schedule.length + idle_price_ * std::max<Cycle>(0, span(s.schedule) - low_) +
           static_cast<Cycle>(std::min<Wide>(s.excess * price_ / kPriceUnit, kMaxInterval));
  }

  // `s` as good as justification makes it. Returns its value.
  Cycle justify(Soft& s) {
    Soft now = s;
    Cycle value = value_of(s);
    bool fits = s.excess == 0;
    const auto look = [&](const Soft& one) {
      fits = fits || one.excess == 0;
      offer(one);
      if (value_of(one) >= value) return false;
      value = value_of(one);
      s = one;
      return true;
    };
    offer(s);
    for (int k = 0; k < kJustifications && left_ > 0; ++k) {
      const auto late = generate_late(now.schedule);
      if (!late) break;
      const bool better = look(*late);
      Pass pass{false, {}, late->schedule.start, random_reach()};
      if (random_.below(4) != 0) pass.slots = late->schedule.warp;
      auto soon = generate(now_period_, by_start(late->schedule), pass);
      if (!soon) break;
      now = std::move(*soon);
      if (!look(now) && !better) break;
    }
    set_price(fits);
    if (!value_ || value < *value_) value_ = value;
    if (value <= *value_ + *value_ / kNearBest) overlapped(s.schedule);
    return value;
  }

  void set_price(bool fits) {
    if (fits != fitted_) equal_ = 0;
    fitted_ = fits;
    if (++equal_ < std::max(kLeastPatience, 200 * kPatience / p_.ops.size())) return;
    equal_ = 0;
    price_ = fits ? price_ - price_ / 5 : std::min(kHighestPrice, price_ + price_ / 4 + 1);
  }

  // The same order in a period as short as can be, in which iterations overlap.
  void overlapped(const Schedule& s) {
    const auto soon = generate(low_, by_start(s), {false, s.warp, s.start});
    if (!soon) return;
    offer(*soon);
    const auto late = generate_late(soon->schedule);
    if (!late) return;
    offer(*late);
    const Schedule& l = late->schedule;
    if (const auto again = generate(low_, by_start(l), {false, l.warp, l.start, random_reach()}))
      offer(*again);
  }

  // Is it the best, with its orders?
  void offer(const Soft& one) {
    if (one.excess > 0) return;
    const Schedule& s = one.schedule;
    const Cycle most = best_ ? best_->initiation_interval : s.initiation_interval;
    if (best_ && (span(s) > most || (span(s) == most && s.length >= best_->length))) return;
    if (best_ && most == low_ && s.length >= best_->length) return;
    if (s.initiation_interval > low_) {
      // (To tighten takes as long as some passes.)
      const Cycle promise = s.length + 2 * std::max<Cycle>(0, span(s) - low_);
      if (promise_ && promise > *promise_ + *promise_ / kPromising) return;
      if (!promise_ || promise < *promise_) promise_ = promise;
    }
    auto tight = tighten(p_, p_, s, low_, s.initiation_interval, options_.stop);
    if (!tight || verify(p_, *tight)) return;
    if (!best_ || std::pair(tight->initiation_interval, tight->length) <
                      std::pair(best_->initiation_interval, best_->length)) {
      best_ = std::move(tight);
      go_on();
    }
  }

  // As long again as it took to come here.
  void go_on() {
    const std::int64_t more = std::min(given_ - left_ - left_, kMostEffort * effort_ - given_);
    if (left_ <= 0 || more <= 0) return;
    given_ += more;
    left_ += more;
  }

  const Problem& p_;
  Cycle low_, shortest_ = 0;
  const ListScheduleOptions& options_;
  SplitMix64 random_;
  std::int64_t effort_, given_, left_;  // in ops placed: as asked for, with more, and what is left
  Cycle period_, now_period_ = period_;
  std::vector<Cycle> delays_;
  ListMoves moves_;
  std::optional<Cycle> value_, promise_;  // the least, of all and of what does not overflow
  std::optional<Schedule> best_;
  std::vector<Soft> elite_;
  Wide price_ = kFirstPrice, slot_price_ = 0;
  Cycle idle_price_ = 1;
  bool fitted_ = true;
  std::size_t equal_ = 0;
};

}  // namespace

std::optional<Schedule> list_justified(const Problem& problem, Cycle low,
                                       const ListScheduleOptions& options) {
  if (!list_tries(problem) || problem.units.empty() || low > problem.interval.most)
    return std::nullopt;
  return Justifier(problem, low, options).run();
}

}  // namespace twill
