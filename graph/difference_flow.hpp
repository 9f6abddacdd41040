// The smallest weighted sum of values under difference constraints, with the reason why it is not
// smaller: the dual of a minimum-cost flow.
//
// Source: Ahuja, Magnanti and Orlin, "Network Flows" (1993), Sections 9.4 (duality) and 9.7
// (successive shortest paths).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// value(to) - value(from) >= weight.
struct FlowArc {
  int from = 0, to = 0;
  Cycle weight = 0;
};

struct FlowOptimum {
  std::int64_t sum = 0;
  std::vector<Cycle> values;  ///< with that sum, integers
  /// How often each arc counts: the arcs' constraints, taken so often and added up, say that the
  /// sum is at least `sum`.
  std::vector<int> times;
};

/// The smallest sum of coefficient * value over values that keep all arcs. `values` keep them;
/// coefficients add up to 0, and from every node with a negative one there is a path to every node
/// with a positive one (then the sum is bounded). Time: a shortest path for each unit of
/// coefficients.
FlowOptimum least_weighted_sum(std::span<const FlowArc> arcs, std::span<const int> coefficients,
                               std::vector<Cycle> values);

}  // namespace twill
