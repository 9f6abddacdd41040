// Sums of amounts over time.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// `amount` in [begin, end).
struct Held {
  Cycle begin = 0, end = 0;
  Amount amount = 0;
};

/// The same sum at every cycle in ascending pieces that do not meet, each of one amount > 0.
inline std::vector<Held> profile(const std::vector<Held>& held) {
  std::vector<std::pair<Cycle, Amount>> changes;
  for (const Held& h : held)
    if (h.begin < h.end && h.amount > 0) {
      changes.emplace_back(h.begin, h.amount);
      changes.emplace_back(h.end, -h.amount);
    }
  std::sort(changes.begin(), changes.end());
  std::vector<Held> pieces;
  Amount sum = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const Cycle now = changes[i].first;
    for (; i < changes.size() && changes[i].first == now; ++i) sum += changes[i].second;
    if (!pieces.empty() && pieces.back().end < 0) {
      if (pieces.back().amount == sum) continue;
      pieces.back().end = now;
    }
    if (sum > 0) pieces.push_back({now, -1, sum});  // -1: open
  }
  return pieces;
}

}  // namespace twill
