// The tree of the generalized totalizer, for single terms and for groups.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "encoders/formula.hpp"

namespace twill {

/// Sums that a part of a constraint can reach, each with the literal that is implied by "the part
/// reaches this sum" when it does; 0 is not listed.
using WeightedOutputs = std::map<std::int64_t, Lit>;

/// A balanced tree over the leaves, split floor(n/2) / ceil(n/2); sums above `cap` - 1 count as
/// `cap`. An inner node with a and b outputs of its children has one variable per different sum and
/// a + b + a b clauses.
WeightedOutputs weight_tree(Formula& f, std::span<const WeightedOutputs> leaves, std::int64_t cap);

}  // namespace twill
