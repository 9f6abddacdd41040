// What becomes of a program when its costs are not what the schedule took them for.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/contention.hpp"
#include "graph/program/time.hpp"

namespace twill::program {

struct Variation {
  int spread = 20;       ///< percent: an op takes 1 - spread to 1 + spread of its own costs
  int load_spread = 20;  ///< percent, of ops of variable latency; no more than 100 less
  /// Is every execution drawn by itself (jitter), or each op once a run (costs that are wrong)?
  bool every_execution = true;
  int runs = 1000;
  std::uint64_t seed = 0;
};

/// Clocks an iteration of each run, ascending, of its middle half (middle_clocks). Needs n >= 4.
std::vector<double> varied_clocks(const Clock& clock, const Program& program,
                                  const Problem& problem, const BarrierCosts& costs,
                                  const Contention& contention, const Variation& variation);

/// Of ascending numbers, at least one: the least that a share of them is not above, 0 < share <= 1.
double quantile(const std::vector<double>& ascending, double share);

}  // namespace twill::program
