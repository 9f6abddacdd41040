#include "engine/nested.hpp"

#include <utility>

#include "engine/limits_left.hpp"
#include "graph/error.hpp"

namespace twill {

NestedSolution solve_nested(const std::vector<NestedLoop>& nests,
                            const std::vector<std::string>& names, const Options& options,
                            std::stop_token stop, const ProgressCallback& progress) {
  NestedSolution all;
  LimitsLeft left(options, stop);
  std::vector<Lowered> outer;
  for (std::size_t k = 0; k < nests.size(); ++k) {
    check(nests[k]);
    Options alone = left.of(options);
    alone.goals.clear();
    alone.evidence = false;
    alone.explain = false;
    NestedLayout layout;
    layout.inner = solve(inner_problem(nests[k]), alone, stop, progress);
    left.took(layout.inner.conflicts);
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
