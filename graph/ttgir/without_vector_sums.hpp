// Products that begin with a vector, or with one number: `dot(q, k) + bias[None, :]` is the product
// and an addition of its own.
//
// Triton puts what is added into the product (its pass "combine": dot(a, b, 0) + d is
// dot(a, b, d)). A product's text begins with a tile that is there, and nobody makes a tile of a
// vector that is repeated; an addition takes the vector as it is. Of real numbers of 32 bits both
// are the same but for the order in which they are rounded.
#pragma once

#include <optional>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The module with such products beginning with 0 and an arith.addf behind each; in tensor memory
/// (Blackwell) what stores the vector there goes, and what stores zeros for one product alone. Ops
/// keep the lines that they had. nullopt = there is none.
std::optional<Module> without_vector_sums(const Module& module);

}  // namespace twill::ttgir
