// Views that hold nothing keep their source live and charge its spill (see costed_loop.hpp).
#include "graph/costed_loop.hpp"

namespace twill {
namespace {

/// The op that holds what a view shows, and the distance from it to the view.
struct Root {
  std::size_t op = 0;
  int distance = 0;
};

/// `steps`: per view the distance of the edge from its source.
Root root_of(const Kernel& kernel, const std::vector<int>& steps, std::size_t view) {
  Root root{view, 0};
  while (kernel.ops[root.op].alias_of) {
    root.distance += steps[root.op];
    root.op = *kernel.ops[root.op].alias_of;
  }
  return root;
}

}  // namespace

void add_alias_edges(const Kernel& kernel, CostedLoop& loop, const HoldOf& hold_of) {
  std::vector<int> steps(kernel.ops.size(), 0);
  for (const KernelEdge& edge : kernel.edges)  // exactly one, the reader has seen to that
    if (kernel.ops[edge.to].alias_of == edge.from) steps[edge.to] = edge.distance;
  for (const KernelEdge& use : kernel.edges) {
    if (!kernel.ops[use.from].alias_of) continue;
    // A further view of this view reads nothing yet: its own consumers get the edge.
    if (kernel.ops[use.to].alias_of == use.from) continue;
    const Root root = root_of(kernel, steps, use.from);
    const std::int64_t distance = std::int64_t{root.distance} + use.distance;
    if (distance > kMaxDistance)
      throw InputError(
          kernel.source, "/edges", std::to_string(distance),
          "distances along a chain of views must sum to at most " + std::to_string(kMaxDistance));
    loop.edges.push_back({static_cast<int>(root.op), static_cast<int>(use.to), 0,
                          static_cast<int>(distance), false, hold_of(use, root.op)});
  }
}

}  // namespace twill
