#include "engine/order/copies.hpp"

#include <functional>
#include <vector>

#include "graph/bounds/bounds.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/verify.hpp"

namespace twill::order {
namespace {

constexpr std::int64_t kCopyConflicts = 20'000;

}  // namespace

std::optional<RolledLoop> rolled_of(const Search& search) {
  const PlacementRequest& placement = search.placement;
  const PlacementLimits& limits = placement.limits;
  const bool free = placement.handover && !placement.parts && limits.counts.empty() &&
                    limits.lifetime < 0 && limits.precedences.empty() && limits.latest.empty() &&
                    search.goals.empty() && search.stage_limit == 0;
  return free ? rolled(search.problem) : std::nullopt;
}

namespace {

/// What `work` finds of the rolled loop in a search of few conflicts, once for each copy.
std::optional<Schedule> copied(
    const Search& search, const RolledLoop& rolled,
    const std::function<std::optional<Schedule>(const Search& inner)>& work) {
  const ProgressCallback silent;
  Budget budget(search.budget, search.budget.stop_token(), kCopyConflicts);
  Reporter report(silent, budget);
  Search inner = search.with(rolled.loop, budget, report);
  inner.threads = 1;
  std::optional<Schedule> found;
  budget.complete([&] { found = work(inner); });
  budget.join();
  if (!found) return std::nullopt;
  Schedule all = repeated(search.problem, rolled, *found);
  if (verify(search.problem, all)) return std::nullopt;
  return all;
}

}  // namespace

std::optional<Schedule> by_copies(const Search& search, const RolledLoop& rolled) {
  const Cycle low = lower_bounds(rolled.loop).front().value;
  if (low > rolled.loop.interval.most) return std::nullopt;
  return copied(search, rolled, [&](const Search& inner) {
    return search.engine.smallest_interval(inner, low).best;
  });
}

std::optional<Schedule> shorter_by_copies(const Search& search, const RolledLoop& rolled,
                                          const Schedule& best) {
  if (best.initiation_interval % rolled.copies != 0) return std::nullopt;
  const Cycle ii = best.initiation_interval / rolled.copies;
  if (lower_bounds(rolled.loop).front().value > ii) return std::nullopt;
  const std::vector<Bound> bounds = length_bounds(rolled.loop, ii);
  if (bounds.empty()) return std::nullopt;
  auto all = copied(search, rolled, [&](const Search& inner) {
    Cycle stages = 0, low = bounds.front().value;
    std::optional<Schedule> found = search.engine.ask(inner, ii, stages).schedule;
    if (found) smallest_length(inner, *found, low);
    return found;
  });
  if (!all || all->length >= best.length) return std::nullopt;
  return all;
}

}  // namespace twill::order
