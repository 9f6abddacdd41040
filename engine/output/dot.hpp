// The dependence graph in Graphviz' DOT language, coloured by warp slot (the Twill paper's Figure
// 9).
#pragma once

#include <string>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Nodes: ops with start, cycles and stage, filled with their slot's colour. Edges: dashed with the
/// distance when loop-carried, bold when the value crosses slots, an open head when the consumer
/// must block. A legend names slots and line styles. Without a schedule nothing is coloured.
std::string dot_graph(const Problem& problem, const Solution& solution);

}  // namespace twill
