// Binary numbers as literals, least significant first: sums by adders, and bounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encoders/formula.hpp"
#include "encoders/sums/pseudo_boolean.hpp"

namespace twill {

using Binary = std::vector<Lit>;

/// (sum, carry) of three bits, equivalences: 2 variables, 14 clauses (8 and 6).
std::pair<Lit, Lit> full_adder(Formula& f, Lit a, Lit b, Lit c);
/// (sum, carry) of two bits, equivalences: 2 variables, 7 clauses (4 and 3); none for constants.
std::pair<Lit, Lit> half_adder(Formula& f, Lit a, Lit b);

/// The sum of weight * literal, weights >= 0, bit by bit: each bit's literals and carries are added
/// three by three, first come first served (Een and Sorensson, JSAT 2006, Section 5). Per bit with
/// m > 0 of them floor((m - 1) / 2) full adders, and one half adder if m is even.
Binary binary_sum(Formula& f, std::span<const Term> terms);

/// number + c, c >= 0.
Binary binary_plus(Formula& f, const Binary& number, std::int64_t c);

/// left <= right whenever `condition`: a variable and three clauses a bit.
void at_most_binary(Formula& f, Binary left, Binary right, Lit condition = kTrueLit);
/// number <= bound: one clause per bit that is 0 in the bound; one with a condition false = none.
void at_most_binary(Formula& f, const Binary& number, std::int64_t bound, Lit condition = kTrueLit);
/// number >= bound: one clause per bit that is 1 in the bound.
void at_least_binary(Formula& f, const Binary& number, std::int64_t bound);

}  // namespace twill
