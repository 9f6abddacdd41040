// What is minimised first: I and then L, or the time of a number of iterations and then I.
#pragma once

#include <utility>

#include "graph/bounds/whole_time.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Smaller is better. (I, L), or (time, I), which is the same as (time, I, L).
using Value = std::pair<Cycle, Cycle>;

struct Objective {
  Cycle iterations = 0;  ///< Options::iterations

  Value value(Cycle ii, Cycle length) const {
    if (iterations == 0) return {ii, length};
    return {whole_time(iterations, ii, length), ii};
  }
  Value value(const Schedule& schedule) const {
    return value(schedule.initiation_interval, schedule.length);
  }
  /// What is proved of a problem whose search was stopped: none is below.
  Value bound(const Solution& stopped) const {
    if (iterations == 0) return {stopped.ii_lower_bound, 0};
    return {stopped.whole_time ? stopped.whole_time->lower_bound : 0, 0};
  }
};

}  // namespace twill
