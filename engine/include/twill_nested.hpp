// A loop with a loop inside it, for C++: the inner loop alone, then the outer one around it (rule
// 12). Beside twill.hpp, which it includes.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "graph/nested/nested_loop.hpp"
#include "twill.hpp"

namespace twill {

/// One layout of the machine.
struct NestedLayout {
  /// Of inner_problem(); smallest I, then L. With outer_room() left free where I is the same then,
  /// or where the outer loop has no room else.
  Solution inner;
  std::optional<Problem> nested;  ///< with that schedule, where there is one and rings fit
  std::string refused;            ///< why `nested` is not there, "" where the solution says it
};

struct NestedSolution {
  std::vector<NestedLayout> layouts;  ///< in the order given
  /// Over the layouts that have `nested`, in their order; nothing where none has. Best for the
  /// inner schedules given: another schedule of the inner loop may leave more room for the outer
  /// one.
  std::optional<LayoutsSolution> outer;
  std::vector<std::size_t> layout_of;  ///< of outer->layouts, the index in `layouts`

  const NestedLayout& chosen() const { return layouts[layout_of[outer->chosen]]; }
};

/// `nests` are one nest on each layout (their names beside them). The options are those of both
/// searches; goals are the outer one's. Throws InputError as check(NestedLoop) and solve() do.
NestedSolution solve_nested(const std::vector<NestedLoop>& nests,
                            const std::vector<std::string>& names, const Options& options,
                            std::stop_token stop = {}, const ProgressCallback& progress = {});

}  // namespace twill
