// Rule 9: what an iteration moves through a channel takes at least amount / rate cycles.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/bounds/bounds.hpp"
#include "graph/problem.hpp"

namespace twill {

/// A channel that something passes through.
struct ChannelUse {
  int channel = 0;
  Cycle least = 1;  ///< ceil(sum of the traffic / rate); beyond kMaxInterval, one more than that
  std::string sum;  ///< "3 x 65536 + 32768 = 229376 at 128 a cycle"
};

/// In the problem's order, exact whatever the fractions are.
std::vector<ChannelUse> channel_uses(const Problem& problem);

/// Per channel that something passes through, in the problem's order: ceil(sum of the traffic /
/// rate), exact whatever the fractions are. Named "channel". Rule 9 says no more than that I is at
/// least the largest of them, so the bound is met by every schedule that all other rules allow at
/// such an I.
std::vector<Bound> channel_bounds(const Problem& problem);

/// The largest of channel_bounds(); 1 where there is none.
Cycle least_by_channels(const Problem& problem);

/// The share of I that a channel is busy, in [0, 1] where rule 9 holds.
double channel_load(const Problem& problem, int channel, Cycle ii);

}  // namespace twill
