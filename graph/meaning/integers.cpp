#include "graph/meaning/integers.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace twill::meaning {

std::int64_t wrapped(std::int64_t x, int bits) {
  const std::uint64_t size = std::uint64_t{1} << bits;
  const std::uint64_t low = static_cast<std::uint64_t>(x) & (size - 1);
  return static_cast<std::int64_t>(low) -
         (low >= size / 2 ? static_cast<std::int64_t>(size) : std::int64_t{0});
}

std::optional<std::int64_t> of_integers(Function function, std::int64_t a, std::int64_t b,
                                        int bits) {
  a = wrapped(a, bits);
  b = wrapped(b, bits);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const std::uint64_t u = static_cast<std::uint64_t>(a) & mask,
                      v = static_cast<std::uint64_t>(b) & mask;
  const bool shifts = b >= 0 && b < bits;
  std::optional<std::uint64_t> result;
  switch (function) {
    case Function::int_add: result = u + v; break;
    case Function::int_sub: result = u - v; break;
    case Function::int_mul: result = u * v; break;
    case Function::int_div:
    case Function::int_rem:
      // (The least number by -1 is out of range.)
      if (b == 0 || (b == -1 && u == (mask >> 1) + 1)) return std::nullopt;
      result = static_cast<std::uint64_t>(function == Function::int_div ? a / b : a % b);
      break;
    case Function::mul_high: result = (u * v) >> bits; break;
    case Function::bit_and: result = u & v; break;
    case Function::bit_or: result = u | v; break;
    case Function::bit_xor: result = u ^ v; break;
    case Function::shift_left:
      if (shifts) result = u << b;
      break;
    case Function::shift_right:
      if (shifts) result = static_cast<std::uint64_t>(a >> b);
      break;
    case Function::shift_right_logical:
      if (shifts) result = u >> b;
      break;
    default: break;
  }
  if (!result) return std::nullopt;
  return wrapped(static_cast<std::int64_t>(*result & mask), bits);
}

double scale_of(double byte) {
  const int bits = static_cast<int>(byte) & 255;
  return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

double number_of_bits(double whole) {
  return std::bit_cast<float>(static_cast<std::int32_t>(whole));
}

double bits_of_number(double x) {
  return std::bit_cast<std::int32_t>(static_cast<float>(x));
}

bool compared(Function function, double a, double b) {
  switch (function) {
    case Function::greater: return a > b;
    case Function::at_least: return a >= b;
    case Function::equal: return a == b;
    default: return !(a == b);
  }
}

}  // namespace twill::meaning
