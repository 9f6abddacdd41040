// Views that hold nothing keep their source live and charge its spill (see costed_loop.hpp).
#include "graph/lowering/costed_loop.hpp"

namespace twill {
namespace {

/// The op that holds what a view shows, and the distance from it to the view.
struct Root {
  std::size_t op = 0;
  int distance = 0;
};

/// Of every view, once: a chain may have thousands, and each of them thousands of consumers.
/// `steps`: per view the distance of the edge from its source.
std::vector<Root> roots_of(const Kernel& kernel, const std::vector<int>& steps) {
  std::vector<Root> roots(kernel.ops.size());
  std::vector<bool> known(kernel.ops.size(), false);
  std::vector<std::size_t> chain;
  for (std::size_t v = 0; v < kernel.ops.size(); ++v) {
    for (std::size_t u = v; !known[u]; u = *kernel.ops[u].alias_of) {
      chain.push_back(u);
      if (kernel.ops[u].alias_of) continue;
      roots[u] = {u, 0};
      known[u] = true;
      chain.pop_back();
      break;
    }
    for (; !chain.empty(); chain.pop_back()) {
      const std::size_t u = chain.back();
      const Root& source = roots[*kernel.ops[u].alias_of];
      roots[u] = {source.op, source.distance + steps[u]};
      known[u] = true;
    }
  }
  return roots;
}

}  // namespace

void add_alias_edges(const Kernel& kernel, CostedLoop& loop, const HoldOf& hold_of) {
  std::vector<int> steps(kernel.ops.size(), 0);
  for (const KernelEdge& edge : kernel.edges)  // exactly one, the reader has seen to that
    if (kernel.ops[edge.to].alias_of == edge.from) steps[edge.to] = edge.distance;
  const std::vector<Root> roots = roots_of(kernel, steps);
  for (const KernelEdge& use : kernel.edges) {
    if (!kernel.ops[use.from].alias_of) continue;
    // A further view of this view reads nothing yet: its own consumers get the edge.
    if (kernel.ops[use.to].alias_of == use.from) continue;
    const Root& root = roots[use.from];
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
