#include "engine/include/twill_nested.hpp"

#include <algorithm>
#include <utility>

#include "engine/limits_left.hpp"
#include "engine/options.hpp"
#include "graph/error.hpp"

namespace twill {
namespace {

/// The inner loop alone. It leaves room in memory for what the outer loop needs where it has the
/// same interval with that, or where nothing would be left of a memory that the outer loop needs.
Solution solve_inner(const NestedLoop& nest, const Options& options, LimitsLeft& left,
                     const std::stop_token& stop, const ProgressCallback& progress) {
  const Problem all = inner_problem(nest);
  Solution best = solve(all, options, stop, progress);
  left.took(best.conflicts);
  const std::vector<Amount> room = outer_room(nest);
  if (!best.schedule || std::ranges::all_of(room, [](Amount amount) { return amount == 0; }))
    return best;
  Problem less = all;
  for (std::size_t m = 0; m < room.size(); ++m)
    less.memories[m].capacity = std::max<Amount>(0, less.memories[m].capacity - room[m]);
  Solution with_room = solve(less, left.of(options), stop, progress);
  left.took(with_room.conflicts);
  if (!with_room.schedule) return best;
  if (with_room.schedule->initiation_interval == best.schedule->initiation_interval)
    return with_room;
  try {
    const Problem nested = nested_problem(nest, *best.schedule);
    for (std::size_t m = 0; m < room.size(); ++m)
      if (nested.memories[m].capacity < room[m]) return with_room;
  } catch (const InputError&) {
    return with_room;  // its rings alone are too much
  }
  return best;
}

}  // namespace

NestedSolution solve_nested(const std::vector<NestedLoop>& nests,
                            const std::vector<std::string>& names, const Options& options,
                            std::stop_token stop, const ProgressCallback& progress) {
  NestedSolution all;
  LimitsLeft left(options, stop);
  std::vector<Lowered> outer;
  for (std::size_t k = 0; k < nests.size(); ++k) {
    check(nests[k]);
    Options alone = left.of(options);
    drop_goals(alone);
    alone.evidence = false;
    alone.explain = false;
    NestedLayout layout;
    layout.inner = solve_inner(nests[k], alone, left, stop, progress);
    if (layout.inner.schedule) {
      try {
        layout.nested = nested_problem(nests[k], *layout.inner.schedule);
        all.layout_of.push_back(k);
        outer.push_back({names[k], *layout.nested, {}, {}, {}, {}, {}});
      } catch (const InputError& error) {
        layout.refused = error.what();
      }
    }
    all.layouts.push_back(std::move(layout));
  }
  if (!outer.empty()) all.outer = solve_layouts(std::move(outer), left.of(options), stop, progress);
  return all;
}

}  // namespace twill
