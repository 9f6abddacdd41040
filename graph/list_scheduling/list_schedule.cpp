#include "graph/list_scheduling/list_schedule.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "graph/bounds/serial.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/list_scheduling/list_order.hpp"
#include "graph/list_scheduling/partial_schedule.hpp"
#include "graph/loop.hpp"
#include "graph/random.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

constexpr int kTries = 12;       // places on a slot that are tried for an op
constexpr int kForcedTries = 4;  // and where others make way
constexpr Cycle kCostUnit = 1'000'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFirstPasses = 3;  // ops placed for one of the loop, from nothing
constexpr std::int64_t kMorePasses = 6;   // the same, once there is a schedule
constexpr std::int64_t kNearPasses = 1;   // the same, near a schedule
constexpr std::int64_t kNearCost = 8;     // to begin near one costs this share of a pass
constexpr int kFailures = 4, kMostFailures = 400;

class ListScheduler {
 public:
  ListScheduler(const Problem& problem, Cycle low, const ListScheduleOptions& options)
      : p_(problem), options_(options), random_(options.seed), low_(low) {
    left_ = options.effort * static_cast<std::int64_t>(problem.ops.size());
  }

  std::optional<Schedule> run() {
    const Cycle most = std::min(p_.interval.most, std::max(low_, serial_ii(p_)));
    orders_ = {height_order(p_), swing_order(p_, low_)};
    for (Cycle above = 0; !best_ && left_ > 0; above = std::max(2 * above, low_ / 64 + 1)) {
      const Cycle ii = std::min(most, low_ + above);
      at_interval(ii, kFirstPasses);
      if (ii == most) break;
    }
    // Half way to the bound, as long as that is easy: the first one can be far from it.
    while (best_ && left_ > 0 && best_->initiation_interval > low_)
      if (!at_interval(low_ + (best_->initiation_interval - low_) / 2, kMorePasses)) break;
    near_best();
    return best_;
  }

 private:
  std::int64_t ops() const { return static_cast<std::int64_t>(p_.ops.size()); }

  // Below the best, near it: by as much as the last time, less after some failures. (From nothing
  // again and again, many more ops are placed for less: bench/results/hard.md.)
  void near_best() {
    if (!best_) return;
    Cycle step = (best_->initiation_interval - low_ + 1) / 2;
    for (int failures = 0; left_ > 0 && failures < kMostFailures;) {
      const Cycle before = best_->initiation_interval;
      if (before <= low_) return;
      step = std::clamp<Cycle>(step, 1, before - low_);
      Attempt attempt(*this, before - step, orders_[at(failures % 2)]);
      attempt.begin_near(*best_, random_.range(0, before - 1));
      left_ -= ops() / kNearCost + 1;
      if (const auto found = attempt.run(kNearPasses); found && accept(*found)) {
        failures = 0;
        step = before - best_->initiation_interval;
      } else if (++failures % kFailures == 0) {
        step /= 2;
      }
    }
  }

  bool at_interval(Cycle ii, std::int64_t passes) {
    for (const auto& order : orders_) {
      if (left_ <= 0) return false;
      if (auto found = Attempt(*this, ii, order).run(passes); found && accept(*found)) return true;
    }
    return false;
  }

  bool accept(const Schedule& found) {
    if (verify(p_, found)) return false;
    Schedule next = found;
    if (auto tight = tighten(p_, p_, found, low_, found.initiation_interval, options_.stop);
        tight && !verify(p_, *tight))
      next = std::move(*tight);
    if (!best_ || next.initiation_interval < best_->initiation_interval) best_ = std::move(next);
    return true;
  }

  struct Place {
    int slot = -1;
    Cycle start = 0;
    Wide cost = 0;
  };

  // One interval.
  class Attempt {
   public:
    Attempt(ListScheduler& all, Cycle ii, const std::vector<int>& order)
        : all_(all),
          p_(all.p_),
          random_(all.random_),
          state_(all.p_, ii),
          pool_(order.rbegin(), order.rend()),
          rank_(order.size()),
          penalty_(order.size(), 1),
          earliest_(earliest_starts(all.p_, ii).value_or(std::vector<Cycle>(order.size(), 0))) {
      for (std::size_t i = 0; i < order.size(); ++i) rank_[at(order[i])] = i;
    }

    // In the place of nothing, a schedule of a longer interval: what begins at the end of its
    // period is cut out (the period begins at the residue `origin`), the rest stays where it is in
    // the period. What is cut out, and what clashes now, is placed again.
    void begin_near(const Schedule& schedule, Cycle origin) {
      const Cycle before = schedule.initiation_interval;
      std::vector<int> in_time = std::exchange(pool_, {});
      std::sort(in_time.begin(), in_time.end(), [&](int a, int b) {
        return std::pair(schedule.start[at(a)], a) < std::pair(schedule.start[at(b)], b);
      });
      for (const int v : in_time) {
        const Cycle start = schedule.start[at(v)] - origin, row = mod(start, before);
        if (row < state_.ii()) {
          state_.place(v, schedule.warp[at(v)], floor_divide(start, before) * state_.ii() + row);
          if (!state_.clash()) continue;
          state_.remove(v);
        }
        pool_.push_back(v);
      }
      std::sort(pool_.begin(), pool_.end(),
                [&](int a, int b) { return rank_[at(a)] > rank_[at(b)]; });
    }

    // As many ops as that are placed for one of the loop.
    std::optional<Schedule> run(std::int64_t passes) {
      std::int64_t left = passes * all_.ops();
      while (!pool_.empty()) {
        --all_.left_;
        if (--left < 0 || all_.left_ < 0) return std::nullopt;
        if (left % 64 == 0 && all_.options_.stop && all_.options_.stop()) {
          all_.left_ = 0;
          return std::nullopt;
        }
        const int v = pool_.back();
        pool_.pop_back();
        if (insert(v)) continue;
        ++penalty_[at(v)];
        if (!force(v)) return std::nullopt;
      }
      return state_.schedule();
    }

   private:
    // Where everything has room.
    bool insert(int v) {
      Place best;
      for (const int w : state_.slots_of(v))
        if (const auto place = on_slot(v, w); place && (best.slot < 0 || place->cost < best.cost))
          best = *place;
      if (best.slot < 0) return false;
      state_.place(v, best.slot, best.start);
      return true;
    }

    struct Range {
      Cycle first, last;
      bool late;  // the later, the better: it has consumers alone
    };
    Range range(int v, int w) const {
      const Cycle ii = state_.ii();
      const auto window = state_.window(v, w);
      if (!window.before && !window.after)
        return {earliest_[at(v)], earliest_[at(v)] + ii - 1, false};
      if (!window.before) return {window.last - ii + 1, window.last, true};
      if (!window.after) return {window.first, window.first + ii - 1, false};
      return {window.first, std::min(window.last, window.first + ii - 1), false};
    }

    std::optional<Place> on_slot(int v, int w) {
      const Range r = range(v, w);
      std::optional<Cycle> t = r.late ? state_.last_room(v, w, r.first, r.last)
                                      : state_.first_room(v, w, r.first, r.last);
      for (int tries = 0; t && tries < kTries; ++tries) {
        state_.place(v, w, *t);
        const auto clash = state_.clash();
        if (!clash) {
          const Wide cost = cost_of(w, r.late ? r.last - *t : *t - r.first);
          state_.remove(v);
          return Place{w, *t, cost};
        }
        state_.remove(v);
        if (clash->kind == Clash::registers || clash->kind == Clash::memory) {
          // A producer's result is held for longer the later v is, and its own the earlier.
          if (clash->own == r.late) return std::nullopt;
        }
        t = r.late ? state_.last_room(v, w, r.first, *t - 1)
                   : state_.first_room(v, w, std::max(*t + 1, behind(*clash, *t)), r.last);
      }
      return std::nullopt;
    }

    // The first cycle after what is in the way, where moving there can help.
    Cycle behind(const Clash& clash, Cycle t) const {
      return clash.own && clash.when >= t ? clash.when + 1 : t + 1;
    }

    // Of storage that it takes for longer, half as much of being late, a tenth of a slot's load,
    // and a little of chance. Whole numbers: the same everywhere.
    Wide cost_of(int w, Cycle away) {
      const Cycle ii = state_.ii();
      const Wide chance = random_.range(0, kCostUnit) * Wide{ii} / 50;
      return state_.growth() * (kCostUnit / PartialSchedule::kGrowthUnit) +
             Wide{away} * (kCostUnit / 2) + Wide{state_.load(w)} * (kCostUnit / 10) + chance;
    }

    // Others make way: of a few places the one where those count for least.
    bool force(int v) {
      struct Forced {
        int slot = -1;
        Cycle start = 0;
        std::vector<int> out;
        std::int64_t weight = kNever;
      } best;
      for (const int w : state_.slots_of(v)) {
        Range r = range(v, w);
        if (r.last < r.first) std::swap(r.first, r.last);
        for (int k = 0; k < kForcedTries; ++k) {
          Cycle t = k == 0 ? r.first : k == 1 ? r.last : random_.range(r.first, r.last);
          if (k > 1)
            if (const auto fits = state_.first_room(v, w, t, r.last)) t = *fits;
          std::vector<std::pair<int, std::pair<int, Cycle>>> out;
          std::int64_t weight = 0;
          state_.place(v, w, t);
          while (weight < best.weight) {
            const auto clash = state_.clash();
            if (!clash) break;
            const int victim = choose(state_.blamed(*clash, v));
            if (victim < 0) {
              weight = kNever;
              break;
            }
            out.push_back({victim, {state_.slot(victim), state_.start(victim)}});
            weight += penalty_[at(victim)];
            state_.remove(v);
            state_.remove(victim);
            state_.place(v, w, t);
          }
          state_.remove(v);
          for (auto back = out.rbegin(); back != out.rend(); ++back)
            state_.place(back->first, back->second.first, back->second.second);
          if (weight >= best.weight) continue;
          best = {w, t, {}, weight};
          for (const auto& one : out) best.out.push_back(one.first);
        }
      }
      if (best.slot < 0) return false;
      for (const int victim : best.out) state_.remove(victim);
      state_.place(v, best.slot, best.start);
      // In their order again.
      std::sort(best.out.begin(), best.out.end(),
                [&](int a, int b) { return rank_[at(a)] > rank_[at(b)]; });
      pool_.insert(pool_.end(), best.out.begin(), best.out.end());
      return true;
    }

    int choose(const std::vector<int>& ops) {
      int chosen = -1, equal = 0;
      for (const int v : ops) {
        if (chosen >= 0 && penalty_[at(v)] > penalty_[at(chosen)]) continue;
        if (chosen >= 0 && penalty_[at(v)] == penalty_[at(chosen)]) {
          if (random_.below(static_cast<std::size_t>(++equal)) > 0) continue;
        } else {
          equal = 1;
        }
        chosen = v;
      }
      return chosen;
    }

    ListScheduler& all_;
    const Problem& p_;
    SplitMix64& random_;
    PartialSchedule state_;
    std::vector<int> pool_;
    std::vector<std::size_t> rank_;
    std::vector<std::int64_t> penalty_;
    std::vector<Cycle> earliest_;
  };

  const Problem& p_;
  const ListScheduleOptions& options_;
  SplitMix64 random_;
  Cycle low_;
  std::int64_t left_ = 0;
  std::vector<std::vector<int>> orders_;
  std::optional<Schedule> best_;
};

bool tried(const Problem& problem) {
  if (!problem.inner_loops.empty() || problem.ops.empty()) return false;
  return std::none_of(problem.pins.begin(), problem.pins.end(), [](const Pin& pin) {
    return pin.kind != Pin::on_slot && pin.kind != Pin::not_on_slot;
  });
}

}  // namespace

std::optional<Schedule> list_schedule(const Problem& problem, Cycle low,
                                      const ListScheduleOptions& options) {
  if (!tried(problem)) return std::nullopt;
  return ListScheduler(problem, low, options).run();
}

}  // namespace twill
