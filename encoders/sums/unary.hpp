// Unary numbers: literal j - 1 is implied by "the number is at least j". One direction is enough
// for upper bounds.
#pragma once

#include <span>
#include <vector>

#include "encoders/formula.hpp"

namespace twill {

using Unary = std::vector<Lit>;

/// The sum of two unary numbers, up to `limit` (a node of the totalizer of Bailleux and Boufkhad,
/// CP 2003). min(|a| + |b|, limit) variables; a clause per pair (i, j) != (0, 0) with i + j <=
/// limit. Either number itself, cut to `limit`, where the other is empty.
Unary unary_sum(Formula& f, const Unary& a, const Unary& b, std::size_t limit);

/// How many of the literals are true, up to `limit`: a balanced tree of unary_sum, split
/// floor(n / 2) / ceil(n / 2). No variables for fewer than two literals.
Unary unary_count(Formula& f, std::span<const Lit> literals, std::size_t limit);

}  // namespace twill
