// Cardinality constraints, sum of literals <= k: one encoding a file, card_<name>.cpp, each with
// its citation, size and propagation strength, for 1 <= k < n; the rest is cardinality_is_plain.
//
// later_<name> encodes the count itself, for bounds k <= upper that are chosen later; 1 <= upper <
// n. Its sizes are those of card_<name> for k = upper, without the clause that states the bound,
// where the file says nothing else.
#pragma once

#include <cstdint>
#include <span>

#include "encoders/formula.hpp"
#include "encoders/sums/strengthening.hpp"

namespace twill {

/// k < 0: the empty clause; k = 0: n unit clauses; k >= n: nothing. True if this was all.
bool cardinality_is_plain(Formula& f, std::span<const Lit> literals, std::int64_t k);

void card_seqcounter(Formula& f, std::span<const Lit> literals, std::int64_t k);
void card_totalizer(Formula& f, std::span<const Lit> literals, std::int64_t k);
void card_ktotalizer(Formula& f, std::span<const Lit> literals, std::int64_t k);
void card_kmtotalizer(Formula& f, std::span<const Lit> literals, std::int64_t k);
void card_sortnet(Formula& f, std::span<const Lit> literals, std::int64_t k);
void card_cardnet(Formula& f, std::span<const Lit> literals, std::int64_t k);
void card_adder(Formula& f, std::span<const Lit> literals, std::int64_t k);

AssumableBound later_seqcounter(Formula& f, std::span<const Lit> literals, std::int64_t upper);
AssumableBound later_totalizer(Formula& f, std::span<const Lit> literals, std::int64_t upper);
AssumableBound later_ktotalizer(Formula& f, std::span<const Lit> literals, std::int64_t upper);
AssumableBound later_kmtotalizer(Formula& f, std::span<const Lit> literals, std::int64_t upper);
AssumableBound later_sortnet(Formula& f, std::span<const Lit> literals, std::int64_t upper);
AssumableBound later_cardnet(Formula& f, std::span<const Lit> literals, std::int64_t upper);
TightenableBound later_card_adder(Formula& f, std::span<const Lit> literals, std::int64_t upper);

/// The bound of a count in unary whose literals are implied one by one: no more than k are true.
AssumableBound unary_bound(std::vector<Lit> count, std::int64_t upper);

}  // namespace twill
