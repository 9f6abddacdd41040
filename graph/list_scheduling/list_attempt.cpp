#include "graph/list_scheduling/list_attempt.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/loop.hpp"

namespace twill {
namespace {

constexpr int kTries = 12;       // places on a slot that are tried for an op
constexpr int kForcedTries = 4;  // and where others make way
constexpr Cycle kCostUnit = 1'000'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

ListAttempt::ListAttempt(const Problem& problem, Cycle ii, const std::vector<int>& order,
                         ListEffort& effort)
    : p_(problem),
      effort_(effort),
      state_(problem, ii),
      pool_(order.rbegin(), order.rend()),
      rank_(order.size()),
      penalty_(order.size(), 1),
      earliest_(earliest_starts(problem, ii).value_or(std::vector<Cycle>(order.size(), 0))) {
  for (std::size_t i = 0; i < order.size(); ++i) rank_[at(order[i])] = i;
}

void ListAttempt::order_pool() {
  std::sort(pool_.begin(), pool_.end(), [&](int a, int b) { return rank_[at(a)] > rank_[at(b)]; });
}

bool ListAttempt::end_by(Cycle deadline) {
  const std::vector<Cycle> delays = forced_delays(p_);
  const auto first = earliest_starts(p_, state_.ii(), delays);
  const auto last = latest_starts(p_, state_.ii(), deadline, delays);
  if (!first || !last) return false;
  for (std::size_t v = 0; v < first->size(); ++v)
    if ((*first)[v] > (*last)[v]) return false;
  earliest_ = *first;
  latest_ = *last;
  return true;
}

void ListAttempt::begin_around(const Schedule& schedule, const std::vector<char>& out) {
  std::vector<int> in_time = std::exchange(pool_, {});
  std::sort(in_time.begin(), in_time.end(), [&](int a, int b) {
    return std::pair(schedule.start[at(a)], a) < std::pair(schedule.start[at(b)], b);
  });
  for (const int v : in_time) {
    const Cycle start = schedule.start[at(v)];
    const bool in_range = latest_.empty() || (earliest_[at(v)] <= start && start <= latest_[at(v)]);
    if (out[at(v)] == 0 && in_range) {
      state_.place(v, schedule.warp[at(v)], start);
      if (!state_.clash()) continue;
      state_.remove(v);
    }
    pool_.push_back(v);
  }
  order_pool();
}

void ListAttempt::begin_near(const Schedule& schedule, Cycle origin) {
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
  order_pool();
}

std::optional<Schedule> ListAttempt::run(std::int64_t most) {
  std::int64_t left = most;
  while (!pool_.empty()) {
    --effort_.left;
    if (--left < 0 || effort_.left < 0) return std::nullopt;
    if (left % 64 == 0 && effort_.stop && effort_.stop()) {
      effort_.left = 0;
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

// Where everything has room.
bool ListAttempt::insert(int v) {
  Place best;
  for (const int w : state_.slots_of(v))
    if (const auto place = on_slot(v, w); place && (best.slot < 0 || place->cost < best.cost))
      best = *place;
  if (best.slot < 0) return false;
  state_.place(v, best.slot, best.start);
  return true;
}

ListAttempt::Range ListAttempt::range(int v, int w) const {
  const Cycle ii = state_.ii();
  auto window = state_.window(v, w);
  if (!latest_.empty()) {
    const Cycle first = earliest_[at(v)], last = latest_[at(v)];
    if (!window.after)
      return {window.before ? std::clamp(window.first, first, last) : first, last, false};
    window.last = std::clamp(window.last, first, last);
    if (!window.before) return {first, window.last, true};
    return {std::clamp(window.first, first, last), window.last, false};
  }
  if (!window.before && !window.after) return {earliest_[at(v)], earliest_[at(v)] + ii - 1, false};
  if (!window.before) return {window.last - ii + 1, window.last, true};
  if (!window.after) return {window.first, window.first + ii - 1, false};
  return {window.first, std::min(window.last, window.first + ii - 1), false};
}

std::optional<ListAttempt::Place> ListAttempt::on_slot(int v, int w) {
  const Range r = range(v, w);
  std::optional<Cycle> t =
      r.late ? state_.last_room(v, w, r.first, r.last) : state_.first_room(v, w, r.first, r.last);
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
Cycle ListAttempt::behind(const Clash& clash, Cycle t) const {
  return clash.own && clash.when >= t ? clash.when + 1 : t + 1;
}

// Of storage that it takes for longer, half as much of being late, a tenth of a slot's load,
// and a little of chance. Whole numbers: the same everywhere.
Wide ListAttempt::cost_of(int w, Cycle away) {
  const Cycle ii = state_.ii();
  const Wide chance = effort_.random.range(0, kCostUnit) * Wide{ii} / 50;
  return state_.growth() * (kCostUnit / PartialSchedule::kGrowthUnit) +
         Wide{away} * (kCostUnit / 2) + Wide{state_.load(w)} * (kCostUnit / 10) + chance;
}

// Others make way: of a few places the one where those count for least.
bool ListAttempt::force(int v) {
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
      Cycle t = k == 0 ? r.first : k == 1 ? r.last : effort_.random.range(r.first, r.last);
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

int ListAttempt::choose(const std::vector<int>& ops) {
  int chosen = -1, equal = 0;
  for (const int v : ops) {
    if (chosen >= 0 && penalty_[at(v)] > penalty_[at(chosen)]) continue;
    if (chosen >= 0 && penalty_[at(v)] == penalty_[at(chosen)]) {
      if (effort_.random.below(static_cast<std::size_t>(++equal)) > 0) continue;
    } else {
      equal = 1;
    }
    chosen = v;
  }
  return chosen;
}

}  // namespace twill
