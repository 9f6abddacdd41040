// Division of cycles that may be negative, rounded as the mathematics wants it. Divisors are
// positive. (The verifier, which shares nothing with what it judges, has its own.)
#pragma once

#include <cassert>
#include <cstdint>

namespace twill {

constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  assert(b > 0);
  return a / b - (a % b < 0 ? 1 : 0);
}

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  assert(b > 0);
  return a / b + (a % b > 0 ? 1 : 0);
}

/// The remainder in 0 .. b-1.
constexpr std::int64_t mod(std::int64_t a, std::int64_t b) {
  assert(b > 0);
  return (a % b + b) % b;
}

}  // namespace twill
