// The list scheduler (graph/list_scheduling/) as a part of the searches for the smallest interval.
#include <functional>
#include <utility>
#include <vector>

#include "engine/search.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/list_scheduling/list_schedule.hpp"
#include "graph/log.hpp"

namespace twill {

// Formulas of fewer ops find schedules faster.
constexpr std::size_t kFewOps = 70;
constexpr std::int64_t kShorter = 50;  // ListScheduleOptions::effort, for the length of a schedule
constexpr std::uint64_t kOtherSeed = 1'001;  // odd, so that every second one is even
constexpr std::int64_t kAlone = 600'000;     // ops placed for one iteration alone

static std::int64_t alone_effort(const Problem& problem) {
  return kAlone / static_cast<std::int64_t>(problem.ops.size()) + 1;
}
static bool is_better(const Schedule& one, const Schedule& other) {
  return std::pair(one.initiation_interval, one.length) <
         std::pair(other.initiation_interval, other.length);
}

bool list_can_answer(const Search& search) {
  const PlacementRequest& placement = search.placement;
  const PlacementLimits& limits = placement.limits;
  return search.problem.ops.size() > kFewOps && placement.handover && !placement.parts &&
         limits.counts.empty() && limits.lifetime < 0 && limits.precedences.empty() &&
         limits.latest.empty() && search.goals.empty();
}

// In loops of many ops one iteration alone comes first: where that is at the bound, nothing else is
// asked. Else what is near it, by formulas, and then the list scheduler; of both the better one is
// taken, and where that is the former, what is near it by lists.
std::optional<Schedule> by_list(const Search& search, Cycle low,
                                const std::function<void(Schedule&)>& near) {
  ListScheduleOptions options;
  options.seed = search.seed;
  options.stop = [&] { return search.budget.spent(); };
  if (search.problem.ops.size() <= kManyOps) return list_schedule(search.problem, low, options);
  ListScheduleOptions alone = options;
  alone.effort = alone_effort(search.problem);
  std::optional<Schedule> one = list_justified(search.problem, low, alone);
  if (one && search.stage_limit > 0 && stage_count(*one) > search.stage_limit) one.reset();
  if (one && near) near(*one);
  if (one && one->initiation_interval == low) return one;
  std::optional<Schedule> listed = list_schedule(search.problem, low, options);
  if (!one || (listed && !is_better(*one, *listed))) return listed;
  options.from = std::move(one);
  return list_schedule(search.problem, low, options);
}

void shorten_listed(const Search& search, Schedule& best) {
  if (search.problem.ops.size() <= kManyOps) return;
  const std::vector<Bound> bounds = length_bounds(search.problem, best.initiation_interval);
  shorten_by_list(search, best, bounds.empty() ? 1 : bounds.front().value, kShorter);
}

void shorten_by_list(const Search& search, Schedule& best, Cycle low, std::int64_t effort) {
  ListScheduleOptions options;
  options.effort = effort;
  options.seed = search.seed;
  options.stop = [&] { return search.budget.spent(); };
  const Cycle ii = best.initiation_interval;
  ListScheduleOptions alone = options;
  alone.effort = alone_effort(search.problem) * effort / kShorter;
  alone.seed += static_cast<std::uint64_t>(effort);  // not what by_list() has asked
  Schedule shorter = best;
  if (const auto one = list_justified(search.problem, ii, alone);
      one && one->initiation_interval == ii && one->length < shorter.length &&
      (search.stage_limit == 0 || stage_count(*one) <= search.stage_limit))
    shorter = *one;
  shorter = list_shorten(search.problem, shorter, low, options);
  if (shorter.length < best.length &&
      (search.stage_limit == 0 || stage_count(shorter) <= search.stage_limit))
    best = shorter;
}

namespace {

/// Is there time to go on in, and does the budget let it? (Without a limit of time whoever set one
/// of memory wants to know when it is met: a round of 900 ops takes minutes.)
bool goes_on(const Search& search) {
  return search.budget.seconds_left() > 0 && list_can_answer(search) &&
         search.budget.go_on_with_less();
}

/// Rounds with other seeds in this share of the time that is left.
template <class Round>
void rounds_by_list(const Search& search, double share, const Round& round) {
  Budget& budget = search.budget;
  const double end = budget.elapsed() + share * budget.seconds_left();
  Search other = search.with(search.problem, search.budget, search.report);
  while (!budget.spent() && budget.elapsed() < end) {
    other.seed += kOtherSeed;
    round(other);
    search.report.tell();
  }
}

}  // namespace

void go_on_by_list(const Search& search, Interval& interval) {
  const auto settled = [&] {
    return interval.none || (interval.best && interval.best->initiation_interval <= interval.low);
  };
  if (settled() || !goes_on(search)) return;
  TWILL_LOG("no more memory for formulas: on by lists alone");
  rounds_by_list(search, 0.5, [&](const Search& other) {
    ListScheduleOptions options;
    options.seed = other.seed;
    options.stop = [&] { return other.budget.spent(); };
    // From nothing too: what is far from every schedule near the best is found so alone.
    if (interval.best && other.seed % 2 == 0) options.from = interval.best;
    std::optional<Schedule> next = options.from
                                       ? list_schedule(other.problem, interval.low, options)
                                       : by_list(other, interval.low);
    if (improve(other.problem, interval.best, std::move(next), other.stage_limit))
      search.report.state().ii_high = interval.best->initiation_interval;
  });
}

void go_on_shortening(const Search& search, Schedule& best, Cycle low) {
  if (best.length <= low || !goes_on(search)) return;
  rounds_by_list(search, 1, [&](const Search& other) {
    shorten_by_list(other, best, low, kShorter);
    search.report.state().length_high = best.length;
  });
}

}  // namespace twill
