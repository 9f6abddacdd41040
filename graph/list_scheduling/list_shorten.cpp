// Shorter schedules at one interval by the list scheduler: first from nothing, with deadlines from
// the bound on, which double their distance from it. Then some ops of the best are taken out and
// placed again by an earlier deadline, in which others may have to make way (large neighbourhood
// search, Shaw, CP 1998): what begins in a window of the period or of the iteration, or what
// dependences connect. Most orders are random ones, since where a unit is never idle few of them
// leave no gap.
#include <algorithm>
#include <utility>
#include <vector>

#include "graph/bounds/tighten.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/list_scheduling/list_attempt.hpp"
#include "graph/list_scheduling/list_order.hpp"
#include "graph/list_scheduling/list_schedule.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

// An attempt gives up after this share of a pass, as in list_schedule.cpp, or from nothing after so
// many passes (a pass: as many ops placed as the loop has).
constexpr std::int64_t kShorteningShare = 8, kLeastShortening = 16;
constexpr std::int64_t kNewPasses = 6;
constexpr Cycle kFirstShare = 64;        // of the gap: the first deadline
constexpr std::int64_t kBeginCost = 8;   // to begin one costs this share of a pass
constexpr int kWorse = 4, kMost = 400;   // failures until less is asked, and until it ends
constexpr int kLeastOut = 3, kOut = 40;  // ops taken out: one in so many at the least, or at most

class ListShortener {
 public:
  ListShortener(const Problem& problem, Schedule from, Cycle low,
                const ListScheduleOptions& options)
      : p_(problem),
        best_(std::move(from)),
        low_(low),
        effort_{SplitMix64(options.seed),
                options.effort * static_cast<std::int64_t>(problem.ops.size()), options.stop},
        orders_{height_order(problem), swing_order(problem, best_.initiation_interval)} {}

  Schedule run() {
    const std::int64_t all = effort_.left;
    for (Cycle gap = (best_.length - low_) / kFirstShare; effort_.left > all * 3 / 4; gap *= 2) {
      const Cycle deadline = low_ + std::max<Cycle>(gap, low_ / 64);
      if (deadline >= best_.length || gap == 0) break;
      if (from_nothing(deadline)) break;
    }
    Cycle step = (best_.length - low_) / 2;
    for (int failures = 0; effort_.left > 0 && failures < kMost && best_.length > low_;) {
      step = std::clamp<Cycle>(step, 1, best_.length - low_);
      const Cycle before = best_.length;
      if (shorter_by(step, failures)) {
        failures = 0;
        step = std::max(step, before - best_.length);
      } else if (++failures % kWorse == 0) {
        step = std::max<Cycle>(1, step / 2);
      }
    }
    return best_;
  }

 private:
  std::int64_t ops() const { return static_cast<std::int64_t>(p_.ops.size()); }

  bool from_nothing(Cycle deadline) {
    for (const auto& order : orders_) {
      ListAttempt attempt(p_, best_.initiation_interval, order, effort_);
      if (!attempt.end_by(deadline)) return false;
      if (const auto found = attempt.run(kNewPasses * ops()); found && accept(*found)) return true;
    }
    return false;
  }

  bool shorter_by(Cycle step, int number) {
    std::vector<int> order = orders_[at(number % 2)];
    if (number % 5 > 1)  // any order
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[effort_.random.below(i)]);
    ListAttempt attempt(p_, best_.initiation_interval, order, effort_);
    effort_.left -= ops() / kBeginCost + 1;
    if (!attempt.end_by(best_.length - step)) return false;
    attempt.begin_around(best_, number / 2 % 3 == 2 ? connected() : taken_out(number / 2 % 3 == 0));
    const auto found = attempt.run(std::max(ops() / kShorteningShare, kLeastShortening));
    return found && accept(*found);
  }

  // What begins in a window of the period, or in one of the iteration, at random.
  std::vector<char> taken_out(bool of_period) {
    const Cycle whole = of_period ? best_.initiation_interval : best_.length;
    const Cycle begin = effort_.random.range(0, whole - 1);
    const Cycle width = whole / effort_.random.range(kLeastOut, kOut);
    std::vector<char> out(p_.ops.size(), 0);
    for (std::size_t v = 0; v < out.size(); ++v)
      out[v] = mod(best_.start[v] - begin, whole) < width;
    return out;
  }

  // Ops that dependences connect, around one at random.
  std::vector<char> connected() {
    const int ops = static_cast<int>(p_.ops.size());
    std::vector<char> out(p_.ops.size(), 0);
    std::vector<int> reached = {static_cast<int>(effort_.random.below(p_.ops.size()))};
    out[at(reached.front())] = 1;
    const auto most = static_cast<std::size_t>(ops / effort_.random.range(kLeastOut, kOut) + 1);
    for (std::size_t i = 0; i < reached.size() && reached.size() < most; ++i)
      for (const Edge& e : p_.edges) {
        if (e.from != reached[i] && e.to != reached[i]) continue;
        const int other = e.from == reached[i] ? e.to : e.from;
        if (std::exchange(out[at(other)], 1) == 0) reached.push_back(other);
        if (reached.size() >= most) break;
      }
    return out;
  }

  bool accept(const Schedule& found) {
    if (verify(p_, found)) return false;
    Schedule next = found;
    const Cycle ii = found.initiation_interval;
    if (auto tight = tighten(p_, p_, found, ii, ii, effort_.stop); tight && !verify(p_, *tight))
      next = std::move(*tight);
    if (next.length >= best_.length) return false;
    best_ = std::move(next);
    return true;
  }

  const Problem& p_;
  Schedule best_;
  Cycle low_;
  ListEffort effort_;
  std::vector<std::vector<int>> orders_;
};

}  // namespace

Schedule list_shorten(const Problem& problem, const Schedule& schedule, Cycle low,
                      const ListScheduleOptions& options) {
  if (!list_tries(problem)) return schedule;
  return ListShortener(problem, schedule, low, options).run();
}

}  // namespace twill
