// How units slow each other down, which no problem has: a product that runs beside arithmetic takes
// register ports and shared memory that the arithmetic needs. For a replay in time
// (program/time.hpp). A machine file may say it.
#pragma once

#include <vector>

namespace twill {

/// What is done on `unit` takes `thousandths` of its time while another op is on the unit `by`.
struct Slowdown {
  int unit = 0, by = 0;  ///< units of a problem
  int thousandths = 1000;
};

/// Where several hold, their factors are multiplied, to kMostSlowdown at most. Empty = units do not
/// slow each other down.
using Contention = std::vector<Slowdown>;

constexpr int kLeastSlowdown = 1000, kMostSlowdown = 100'000;

}  // namespace twill
