// Element types: every code of the small ones comes back, and rounding is to the nearest of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph/meaning/number_type.hpp"
#include "tests/support/random_loop.hpp"

namespace number_type_test {

using namespace twill;
using meaning::number_type;
using meaning::NumberType;

namespace {

/// All numbers of a type of at most 16 bits, ascending, without infinities.
std::vector<double> numbers_of(const NumberType& type) {
  std::vector<double> all;
  for (std::uint32_t code = 0; code < std::uint32_t{1} << (8 * type.bytes); ++code) {
    const std::uint8_t bytes[2] = {static_cast<std::uint8_t>(code),
                                   static_cast<std::uint8_t>(code >> 8)};
    const double x = meaning::decode(type, bytes);
    if (std::isfinite(x)) all.push_back(x);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("every code of f8, f8e5m2, i8, f16 and bf16 comes back") {
  for (const char* const name : {"f8", "f8e5m2", "i8", "f16", "bf16"}) {
    const NumberType& type = *number_type(name);
    int numbers = 0;
    for (std::uint32_t code = 0; code < std::uint32_t{1} << (8 * type.bytes); ++code) {
      const std::uint8_t bytes[2] = {static_cast<std::uint8_t>(code),
                                     static_cast<std::uint8_t>(code >> 8)};
      std::uint8_t back[2] = {0, 0};
      const double x = meaning::decode(type, bytes);
      meaning::encode(type, x, back);
      if (std::isnan(x)) {
        CHECK(std::isnan(meaning::decode(type, back)));
        continue;
      }
      ++numbers;
      if (back[0] != bytes[0] || (type.bytes == 2 && back[1] != bytes[1])) FAIL(name << code);
      // (In 8 bits what is rounded is never infinite.)
      if (meaning::rounded(type, x) != x && !(type.bytes == 1 && std::isinf(x))) FAIL(name << code);
    }
    // e4m3: 256 codes less 2; e5m2: less 6; f16: 2^16 less 2 x 1023; bf16: less 2 x 127.
    const int of_byte = type.precision == 0 ? 256 : type.exponent_bits == 5 ? 250 : 254;
    CHECK(numbers == (type.bytes == 1 ? of_byte : type.exponent_bits == 5 ? 63490 : 65282));
  }
}

TEST_CASE("known codes") {
  const auto f8 = [](std::uint8_t code) { return meaning::decode(*number_type("f8"), &code); };
  CHECK(f8(0x7e) == 448);
  CHECK(f8(0x08) == 0x1p-6);
  CHECK(f8(0x01) == 0x1p-9);
  CHECK(std::isnan(f8(0x7f)));
  const std::uint8_t one[2] = {0x00, 0x3c}, least[2] = {0x01, 0x00}, endless[2] = {0x00, 0xfc};
  CHECK(meaning::decode(*number_type("f16"), one) == 1);
  CHECK(meaning::decode(*number_type("f16"), least) == 0x1p-24);
  CHECK(meaning::decode(*number_type("f16"), endless) == -std::numeric_limits<double>::infinity());
  CHECK(number_type("f4") == nullptr);
  const auto e5m2 = [](std::uint8_t code) {
    return meaning::decode(*number_type("f8e5m2"), &code);
  };
  CHECK(e5m2(0x7b) == 57344);
  CHECK(e5m2(0x3c) == 1);
  CHECK(e5m2(0x01) == 0x1p-16);
  CHECK(std::isinf(e5m2(0x7c)));
  CHECK(std::isnan(e5m2(0x7d)));
  CHECK(meaning::rounded(*number_type("f8e5m2"), 1e6) == 57344);
  CHECK(meaning::rounded(*number_type("i8"), -200) == -128);
}

TEST_CASE("rounding is to the nearest number, ties to even, within unit and tiny") {
  test::Random random(7);
  for (const char* const name : {"f8", "f16", "bf16"}) {
    const NumberType& type = *number_type(name);
    const std::vector<double> all = numbers_of(type);
    REQUIRE(all.back() == type.largest);
    for (int k = 0; k < 100'000; ++k) {
      const double power = static_cast<double>(random.range(-1'600, 1'600)) / 100;
      double x = std::exp2(power) * static_cast<double>(random.range(-1'000'000, 1'000'000)) / 1e6;
      if (std::abs(x) > type.largest) x = type.largest;
      // Half of them exactly between two numbers.
      const auto above = std::upper_bound(all.begin(), all.end(), x);
      if (k % 2 == 0 && above != all.end() && above != all.begin()) x = (*above + *(above - 1)) / 2;
      const double near = meaning::rounded(type, x);
      const auto next = std::lower_bound(all.begin(), all.end(), x);
      double best = next == all.end() ? all.back() : *next;
      if (next != all.begin() && x - *(next - 1) < best - x) best = *(next - 1);
      if (std::abs(near - x) != std::abs(best - x)) FAIL(name << " " << x << " " << near);
      if (std::abs(near - x) > type.unit() * std::abs(x) + type.tiny()) FAIL(name << " " << x);
      if (near != best) {  // a tie
        std::uint8_t code[2] = {0, 0};
        meaning::encode(type, near, code);
        if (code[0] % 2 != 0) FAIL(name << " " << x << " " << near);
      }
    }
    CHECK(meaning::rounded(type, 2 * type.largest) ==
          (type.bytes == 1 ? type.largest : std::numeric_limits<double>::infinity()));
    CHECK(std::isnan(meaning::rounded(type, std::numeric_limits<double>::quiet_NaN())));
  }
}

TEST_CASE("f32, tf32, f64 and i32") {
  test::Random random(8);
  for (const char* const name : {"f32", "tf32", "f64", "i32"}) {
    const NumberType& type = *number_type(name);
    for (int k = 0; k < 10'000; ++k) {
      const double x = static_cast<double>(random.range(-1'000'000'000, 1'000'000'000)) / 1024;
      const double near = meaning::rounded(type, x);
      CHECK(std::abs(near - x) <= type.unit() * std::abs(x) + type.tiny());
      std::uint8_t bytes[8];
      meaning::encode(type, near, bytes);
      CHECK(meaning::decode(type, bytes) == near);
    }
  }
  CHECK(meaning::rounded(*number_type("f32"), 0.1) == static_cast<double>(0.1F));
  CHECK(meaning::rounded(*number_type("f32"), 1e39) == std::numeric_limits<double>::infinity());
  CHECK(meaning::rounded(*number_type("tf32"), 1 + 0x1p-11) == 1);
  CHECK(meaning::rounded(*number_type("i32"), 2.6) == 3);
}

}  // namespace number_type_test
