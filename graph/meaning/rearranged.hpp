// Elements of one tile, or of two of one type behind each other, in another order, some of them
// several times or not at all: what reshapes, permutations, splits and joins make. Element e of the
// result, row by row, is written in digits (those of a mixed radix, the first changes last); it is
// the element `first` + the sum of digit times step of what is rearranged, row by row.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/meaning/meaning.hpp"

namespace twill::meaning {

struct Digit {
  std::int64_t extent = 1, step = 0;
  bool operator==(const Digit&) const = default;
};
inline constexpr int kMostDigits = 24;

struct Rearrangement {
  std::size_t tiles = 1;
  std::int64_t first = 0;
  std::vector<Digit> digits;

  /// How many elements the result has, and the largest place that it takes one from.
  std::int64_t elements() const;
  std::int64_t last() const;
  /// Where an element comes from.
  std::int64_t place(std::int64_t element) const;
};

/// Of a value that is rearranged: its operands are the tiles, then `first`, then each digit's
/// extent and step.
Rearrangement rearrangement_of(const Value& value);
void append(const Rearrangement& how, std::vector<Operand>& operands);

/// Are the numbers behind the tiles whole and not negative, extents at least 1?
bool is_rearrangement(const Value& value);

}  // namespace twill::meaning
