// At-most-one constraints: one encoding a file, amo_<name>.cpp, each with its citation, size and
// propagation strength. Exactly one = at most one and the clause of all literals.
#pragma once

#include <span>

#include "encoders/formula.hpp"

namespace twill {

/// At least two literals, none of them constant.
using AmoEncoder = void(Formula&, std::span<const Lit> literals);

// Those that others use. The table (option_table.cpp) declares the rest, which it alone calls.
AmoEncoder amo_pairwise, amo_ladder;

}  // namespace twill
