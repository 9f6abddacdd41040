// Sorting networks as clauses, in the direction that upper bounds need: output j is implied by "at
// least j inputs are true".
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "encoders/formula.hpp"

namespace twill {

/// (a or b, a and b), implied: 2 variables, 3 clauses; none where a literal meets itself.
std::pair<Lit, Lit> comparator(Formula& f, Lit a, Lit b);

/// Merges two sorted sequences of any lengths; Batcher's odd-even merge (1968).
std::vector<Lit> odd_even_merge(Formula& f, std::span<const Lit> a, std::span<const Lit> b);

/// All literals sorted, split floor(n/2) / ceil(n/2).
std::vector<Lit> odd_even_sort(Formula& f, std::span<const Lit> literals);

/// Every other entry from the first (0) or the second (1) on.
std::vector<Lit> every_other(std::span<const Lit> sequence, std::size_t first);

}  // namespace twill
