// Cardinality constraints, sum of literals <= k: one encoding a file, card_<name>.cpp, each with
// its citation, size and propagation strength.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encoders/formula.hpp"
#include "encoders/sums/strengthening.hpp"

namespace twill {

/// 1 <= k < n, no literal is constant.
using CardEncoder = void(Formula&, std::span<const Lit> literals, std::int64_t k);
/// The count itself, for bounds k <= upper that are chosen later; 1 <= upper < n, or n where they
/// are chosen by clauses. The file's sizes are for one bound, k = upper, and include the unit
/// clause that fixes it, where the file says nothing else.
using LaterCardEncoder = LaterBound(Formula&, std::span<const Lit> literals, std::int64_t upper);

// Those that others use. The table (option_table.cpp) declares the rest, which it alone calls.
CardEncoder card_seqcounter;
LaterCardEncoder later_ktotalizer;

/// The bound of a count in unary whose literals are implied one by one: no more than k are true.
AssumableBound unary_bound(std::vector<Lit> count, std::int64_t upper);

}  // namespace twill
