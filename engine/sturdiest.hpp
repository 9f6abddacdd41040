// The goal "slack": of schedules with equal I the one whose results may be latest.
#pragma once

#include <stop_token>

#include "engine/include/twill.hpp"

namespace twill {

/// What is proved of the largest least slack (graph/slack.hpp) at the interval of `solution`, whose
/// schedule is optimal in I: at least `slack`, less than `refuted`.
struct Sturdiest {
  Cycle slack = 0;
  Cycle refuted = 0;
};

/// Bisects between the two: a schedule with a slack of k is one of with_slack(problem, k) at this
/// I, of any length, and whoever has k has k - 1. Then gives `solution` the shortest schedule with
/// that slack, with its bound on L; a limit may leave refuted > slack + 1, or the schedule longer
/// (then feasible). What it takes is added to `solution`.
Sturdiest make_sturdiest(const Problem& problem, const Options& options, Solution& solution,
                         std::stop_token stop);

}  // namespace twill
