#include "graph/meaning/number_type.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace twill::meaning {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kMaxFloat = std::numeric_limits<float>::max();
constexpr std::array<NumberType, 9> kNumberTypes = {{
    {"f64", 8, 53, -1022, std::numeric_limits<double>::max(), 11, 52},
    {"f32", 4, 24, -126, kMaxFloat, 8, 23},
    {"tf32", 4, 11, -126, 0x1.ffcp127, 8, 23},
    {"f16", 2, 11, -14, 65504, 5, 10},
    {"bf16", 2, 8, -126, 0x1.fep127, 8, 7},
    {"f8", 1, 4, -6, 448, 4, 3},
    {"f8e5m2", 1, 3, -14, 57344, 5, 2},
    {"i32", 4, 0, 0, 2147483647, 0, 0},
    {"i8", 1, 0, 0, 127, 0, 0},
}};

bool has_infinity(const NumberType& type) {
  return type.name != "f8";
}

/// Does what is too large become the largest number?
bool saturates(const NumberType& type) {
  return type.bytes == 1;
}

}  // namespace

double NumberType::unit() const {
  return precision == 0 ? 0 : std::ldexp(1.0, -precision);
}
double NumberType::tiny() const {
  return precision == 0 ? 0.5 : std::ldexp(1.0, std::max(least_power - precision, -1074));
}

const NumberType* number_type(std::string_view name) {
  for (const NumberType& type : kNumberTypes)
    if (type.name == name) return &type;
  return nullptr;
}

double rounded(const NumberType& type, double x) {
  if (type.name == "f64" || std::isnan(x) || x == 0) return x;
  if (type.precision == 0) return std::clamp(std::nearbyint(x), -type.largest - 1, type.largest);
  if (std::isinf(x)) return saturates(type) ? std::copysign(type.largest, x) : x;
  if (type.name == "f32" && std::abs(x) < kMaxFloat) return static_cast<float>(x);
  const int power = std::max(std::ilogb(x), type.least_power) - (type.precision - 1);
  const double near = std::ldexp(std::nearbyint(std::ldexp(x, -power)), power);
  if (std::abs(near) <= type.largest) return near;
  return std::copysign(saturates(type) ? type.largest : kInfinite, x);
}

void encode(const NumberType& type, double x, std::uint8_t* bytes) {
  std::uint64_t code = 0;
  if (type.precision == 0) {
    code = static_cast<std::uint64_t>(std::isnan(x) ? -1 : static_cast<std::int64_t>(x));
  } else if (type.bytes == 8) {
    std::memcpy(&code, &x, sizeof x);
  } else if (type.bytes == 4) {
    const auto single = static_cast<float>(x);
    std::uint32_t low = 0;
    std::memcpy(&low, &single, sizeof low);
    code = low;
  } else {
    const std::uint64_t ones = (std::uint64_t{1} << type.exponent_bits) - 1;
    const std::uint64_t full = (std::uint64_t{1} << type.fraction_bits) - 1;
    if (std::isnan(x)) {
      code = ones << type.fraction_bits | full;
    } else if (std::isinf(x)) {
      code = ones << type.fraction_bits;
    } else if (x != 0) {
      const int power = std::max(std::ilogb(x), type.least_power);
      const auto digits =
          static_cast<std::uint64_t>(std::ldexp(std::abs(x), type.fraction_bits - power));
      // The leading one of a normal number adds to the exponent; a subnormal one has none.
      code = (static_cast<std::uint64_t>(power - type.least_power) << type.fraction_bits) + digits;
    }
    if (std::signbit(x)) code |= std::uint64_t{1} << (type.exponent_bits + type.fraction_bits);
  }
  for (int k = 0; k < type.bytes; ++k) bytes[k] = static_cast<std::uint8_t>(code >> (8 * k));
}

double decode(const NumberType& type, const std::uint8_t* bytes) {
  std::uint64_t code = 0;
  for (int k = 0; k < type.bytes; ++k) code |= std::uint64_t{bytes[k]} << (8 * k);
  if (type.precision == 0)
    return type.bytes == 1 ? static_cast<std::int8_t>(code) : static_cast<std::int32_t>(code);
  if (type.bytes == 8) {
    double x = 0;
    std::memcpy(&x, &code, sizeof x);
    return x;
  }
  if (type.bytes == 4) {
    const auto low = static_cast<std::uint32_t>(code);
    float x = 0;
    std::memcpy(&x, &low, sizeof x);
    return x;
  }
  const std::uint64_t ones = (std::uint64_t{1} << type.exponent_bits) - 1;
  const std::uint64_t full = (std::uint64_t{1} << type.fraction_bits) - 1;
  const std::uint64_t exponent = code >> type.fraction_bits & ones, fraction = code & full;
  const bool negative = (code >> (type.exponent_bits + type.fraction_bits) & 1) != 0;
  double x = 0;
  if (exponent == ones && has_infinity(type))
    x = fraction == 0 ? kInfinite : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == ones && fraction == full)
    x = std::numeric_limits<double>::quiet_NaN();
  else
    x = std::ldexp(
        static_cast<double>(fraction) + (exponent == 0 ? 0.0 : std::ldexp(1.0, type.fraction_bits)),
        type.least_power - type.fraction_bits + static_cast<int>(exponent == 0 ? 0 : exponent - 1));
  return negative ? -x : x;
}

}  // namespace twill::meaning
