// Cardinality constraints, sum of literals <= k: one encoding a file, card_<name>.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "encoders/formula.hpp"

namespace twill {

void card_sequential(Formula& f, std::span<const Lit> literals, std::int64_t k);
void card_totalizer(Formula& f, std::span<const Lit> literals, std::int64_t k);

}  // namespace twill
