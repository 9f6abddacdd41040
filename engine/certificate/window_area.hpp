// Windows of time, and what lies inside them.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "graph/wide.hpp"

namespace twill {

// Something that lies in [from, to) and asks for `area` of a capacity there.
struct Inside {
  Wide from = 0, to = 0, area = 0;
};

// Is there a window that those inside ask more of than it has?
inline bool window_exceeded(std::vector<Inside> all, Wide capacity) {
  std::sort(all.begin(), all.end(), [](const Inside& a, const Inside& b) { return a.to < b.to; });
  std::set<Wide> begins;
  for (const Inside& one : all) begins.insert(one.from);
  for (const Wide begin : begins) {
    Wide area = 0;
    for (const Inside& one : all) {
      if (one.from < begin) continue;
      area += one.area;
      if (area > capacity * (one.to - begin)) return true;
    }
  }
  return false;
}

}  // namespace twill
