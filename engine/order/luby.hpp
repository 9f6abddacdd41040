// The universal restart sequence (Luby, Sinclair and Zuckerman, "Optimal speedup of Las Vegas
// algorithms", 1993).
#pragma once

#include <cassert>
#include <cstdint>

namespace twill {

/// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... for i = 1, 2, ...
inline std::int64_t luby(std::int64_t i) {
  assert(i >= 1);
  std::int64_t power = 1;
  while (2 * power - 1 < i) power *= 2;
  while (i != 2 * power - 1) {
    i -= power - 1;
    power = 1;
    while (2 * power - 1 < i) power *= 2;
  }
  return power;
}

}  // namespace twill
