// Arithmetic of integers as GPUs have it: two's complement, modulo a power of 2.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/meaning/meaning.hpp"

namespace twill::meaning {

/// The number of `bits` bits (1 to 32) that is x modulo 2^bits, with a sign.
std::int64_t wrapped(std::int64_t x, int bits);

/// What a function of integers (is_of_integers()) makes of two, in a type of so many bits. Nothing
/// where that is not said: a division by 0 or out of range, a shift by as many bits or more.
std::optional<std::int64_t> of_integers(Function function, std::int64_t a, std::int64_t b,
                                        int bits);

/// What a byte scales by: 2^(s - 127) of its bits without sign, NaN of 255 (e8m0 of OCP MX).
double scale_of(double byte);

/// The f32 that has the bits of an i32, and back (of an f32).
double number_of_bits(double whole);
double bits_of_number(double x);

/// Is it so? Of a comparison (is_comparison()).
bool compared(Function function, double a, double b);

}  // namespace twill::meaning
