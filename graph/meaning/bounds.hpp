// Bounds: which elements of a tile a mask lets through, where it compares places with a limit. A
// bound is a half-plane: rows r + columns c + per_iteration i + first >= 0, of row r and column c
// of an element (of a vector, r is its place) and iteration i. Bounds are the last operands of a
// load, a store or `within`, four numbers each, in this order. All of them hold where an element is
// kept.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/meaning/meaning.hpp"

namespace twill::meaning {

struct Bound {
  double rows = 0, columns = 0, per_iteration = 0, first = 0;
};
inline constexpr int kBoundNumbers = 4, kMostBounds = 8;
/// No number of a bound is larger: sums of them are exact in double precision.
inline constexpr double kLargestBound = 1e12;

/// Where the bounds begin among the operands; -1 = the function has none, ever.
int first_bound(Function function);

/// Of a value whose operands are as the reader or the builder checked them. Empty = it has none:
/// all elements are kept.
std::vector<Bound> bounds_of(const Value& value);

/// Is the element kept in iteration i?
bool is_inside(const std::vector<Bound>& bounds, std::int64_t row, std::int64_t column,
               std::int64_t i);

}  // namespace twill::meaning
