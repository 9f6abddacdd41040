// The built-in loops that questions are made of.
#pragma once

#include <string>
#include <vector>

#include "graph/problem.hpp"

namespace twill::bench {

struct Loop {
  std::string name, family;
  Problem problem;
};

/// The loops of a grid, the same on every machine:
///   quick    the running example, one attention graph, small random loops
///   default  attention, linear attention, matrix products and normalisation at several
///   resolutions,
///            random loops of up to 32 ops
///   domain   every built-in kernel on every layout, at two resolutions and with other tiles; every
///            TTGIR module of the source tree; random loops of up to 100 ops, with and without
///            registers that bind; loops around a hidden schedule, whose memories bind; loops with
///            sums of many terms, of equal weights and of different ones
/// Throws InputError on another name, or where the source tree is not there.
std::vector<Loop> grid_loops(const std::string& grid);

}  // namespace twill::bench
