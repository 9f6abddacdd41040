// At-most-one constraints: one encoding a file, amo_<name>.cpp, each with its citation, size and
// propagation strength. Exactly one = at most one and the clause of all literals.
#pragma once

#include <span>

#include "encoders/formula.hpp"

namespace twill {

void amo_pairwise(Formula& f, std::span<const Lit> literals);
void amo_ladder(Formula& f, std::span<const Lit> literals);
void amo_product(Formula& f, std::span<const Lit> literals);
void amo_commander(Formula& f, std::span<const Lit> literals);
void amo_binary(Formula& f, std::span<const Lit> literals);
void amo_bimander(Formula& f, std::span<const Lit> literals);

}  // namespace twill
