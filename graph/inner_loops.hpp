// Inner loops with a given schedule (rule 12), as those need them who look at ops.
#pragma once

#include <string>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// Per op the index of the inner loop that it is part of, or -1.
std::vector<int> inner_loop_of(const Problem& problem);

/// M(later) = M(earlier) + `cycles`: a loop's parts, each to the first one.
struct FixedDistance {
  int earlier = 0;
  int later = 0;
  Cycle cycles = 0;  ///< >= 0
  int loop = 0;
};

/// All that inner loops fix: for each loop one less than its parts.
std::vector<FixedDistance> fixed_distances(const Problem& problem);

/// May `edge` make its consumer wait on its slot (rule 8)? Not a part without cycles: the part's
/// code beside it is alone on the slot anyway.
bool may_wait(const Problem& problem, const std::vector<int>& loop_of, const Edge& edge);

/// "inner loop k keeps its offsets and its slots for itself".
std::string inner_loop_text(const InnerLoop& loop);

/// "inner loop k: A 12 cycles after B".
std::string fixed_distance_text(const Problem& problem, const FixedDistance& distance);

}  // namespace twill
