// Element types as numbers: rounding, bytes, and how far rounding goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace twill::meaning {

/// A type of which arithmetic is known here: "f64", "f32", "tf32", "f16", "bf16", "f8" (e4m3 of the
/// OCP, without infinities), "f8e5m2" (of the OCP), "i32", "i8". The others of a kernel file have
/// none.
struct NumberType {
  std::string_view name;
  int bytes = 0;
  int precision = 0;    ///< significant bits, the leading one included; 0 = an integer
  int least_power = 0;  ///< of the smallest normal number
  double largest = 0;   ///< finite
  int exponent_bits = 0, fraction_bits = 0;

  /// Half an ulp, relative: |round(x) - x| <= unit() |x| + tiny().
  double unit() const;
  double tiny() const;
};

/// nullptr = no arithmetic.
const NumberType* number_type(std::string_view name);

/// To nearest, ties to even. What is too large becomes infinite; in types of 8 bits the largest
/// number (as cvt.rn.satfinite of the PTX ISA).
double rounded(const NumberType& type, double x);

/// The bytes of a number that the type has, and back (little endian). tf32 lies as f32.
void encode(const NumberType& type, double x, std::uint8_t* bytes);
double decode(const NumberType& type, const std::uint8_t* bytes);

}  // namespace twill::meaning
