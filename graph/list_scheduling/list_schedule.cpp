#include "graph/list_scheduling/list_schedule.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/bounds/serial.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/index.hpp"
#include "graph/list_scheduling/list_attempt.hpp"
#include "graph/list_scheduling/list_order.hpp"
#include "graph/loop.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

constexpr std::int64_t kFirstPasses = 3;  // ops placed for one of the loop, from nothing
constexpr std::int64_t kMorePasses = 6;   // the same, once there is a schedule
// Near a schedule: the share of a pass after which it gives up, in small loops a few ops. (What
// succeeds there places 10 ops or 30 of a thousand: bench/results/hard.md.)
constexpr std::int64_t kNearShare = 8, kLeastNear = 16;
constexpr std::int64_t kNearCost = 8;  // to begin near one costs this share of a pass
// In larger loops an attempt that fails takes a third of a second, and from a first schedule down
// it is a small step that succeeds: the first one is looked for above the bound, by one in so many.
constexpr std::size_t kLargeLoop = 400;
constexpr Cycle kFirstAbove = 16;
constexpr int kFailures = 4, kMostFailures = 400;

class ListScheduler {
 public:
  ListScheduler(const Problem& problem, Cycle low, const ListScheduleOptions& options)
      : p_(problem),
        options_(options),
        effort_{SplitMix64(options.seed), 0, options.stop},
        low_(low) {
    effort_.left = options.effort * static_cast<std::int64_t>(problem.ops.size());
  }

  std::optional<Schedule> run() {
    const Cycle most = std::min(p_.interval.most, std::max(low_, serial_ii(p_)));
    orders_ = {height_order(p_), swing_order(p_, low_)};
    if (options_.from) best_ = options_.from;
    const bool anew = !best_;
    const bool large = p_.ops.size() > kLargeLoop;
    for (Cycle above = large ? low_ / kFirstAbove : 0; !best_ && effort_.left > 0;
         above = std::max(2 * above, low_ / 64 + 1)) {
      const Cycle ii = std::min(most, low_ + above);
      at_interval(ii, kFirstPasses);
      if (ii == most) break;
    }
    // Half way to the bound, as long as that is easy: the first one can be far from it.
    while (anew && best_ && effort_.left > 0 && best_->initiation_interval > low_)
      if (!at_interval(low_ + (best_->initiation_interval - low_) / 2, large ? 1 : kMorePasses))
        break;
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
    for (int failures = 0; effort_.left > 0 && failures < kMostFailures;) {
      const Cycle before = best_->initiation_interval;
      if (before <= low_) return;
      step = std::clamp<Cycle>(step, 1, before - low_);
      ListAttempt attempt(p_, before - step, orders_[at(failures % 2)], effort_);
      attempt.begin_near(*best_, effort_.random.range(0, before - 1));
      effort_.left -= ops() / kNearCost + 1;
      if (const auto found = attempt.run(std::max(ops() / kNearShare, kLeastNear));
          found && accept(*found)) {
        failures = 0;
        step = before - best_->initiation_interval;
      } else if (++failures % kFailures == 0) {
        step /= 2;
      }
    }
  }

  bool at_interval(Cycle ii, std::int64_t passes) {
    for (const auto& order : orders_) {
      if (effort_.left <= 0) return false;
      if (auto found = ListAttempt(p_, ii, order, effort_).run(passes * ops());
          found && accept(*found))
        return true;
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

  const Problem& p_;
  const ListScheduleOptions& options_;
  ListEffort effort_;
  Cycle low_;
  std::vector<std::vector<int>> orders_;
  std::optional<Schedule> best_;
};

}  // namespace

bool list_tries(const Problem& problem) {
  if (!problem.inner_loops.empty() || problem.ops.empty()) return false;
  return std::none_of(problem.pins.begin(), problem.pins.end(), [](const Pin& pin) {
    return pin.kind != Pin::on_slot && pin.kind != Pin::not_on_slot;
  });
}

std::optional<Schedule> list_schedule(const Problem& problem, Cycle low,
                                      const ListScheduleOptions& options) {
  if (!list_tries(problem)) return std::nullopt;
  return ListScheduler(problem, low, options).run();
}

}  // namespace twill
