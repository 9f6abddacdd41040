// lower() for a kernel that did not come from a kernel file. Private to graph/.
#pragma once

#include <vector>

#include "graph/lower.hpp"
#include "graph/lowering/kernel.hpp"
#include "graph/lowering/machine.hpp"

namespace twill {

/// As lower() of the texts. `options.set` has been applied to the machine already.
std::vector<Lowered> lower(const Kernel& kernel, const Machine& machine,
                           const LowerOptions& options);

/// The problem before it has slots: what no layout changes.
Problem lower_without_slots(const Kernel& kernel, const Machine& machine,
                            const LowerOptions& options);

/// What became of one layout: the problem, or why the layout cannot hold the kernel.
struct OnLayout {
  std::string layout;
  std::optional<Lowered> lowered;
  std::string misfit;
};
/// The same, for every layout that was asked for.
std::vector<OnLayout> lower_each(const Kernel& kernel, const Machine& machine,
                                 const LowerOptions& options);

}  // namespace twill
