// What barriers cost, in cycles of a problem, which does not have it: for a replay in time
// (program/time.hpp). A machine file may say it.
#pragma once

#include "graph/problem.hpp"

namespace twill {

struct BarrierCosts {
  Cycle wait = 0;  ///< a slot is held by each wait on a barrier, passed at once or not
  /// From the end of an op to where a wait on its barrier sees it; not of results whose hand-over
  /// the problem counts (spill).
  Cycle arrive = 0;
};

}  // namespace twill
