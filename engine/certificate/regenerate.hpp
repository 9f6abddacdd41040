// The formula of a refutation, made again from the problem: what checks a certificate calls this,
// and nothing else of the encoders.
#pragma once

#include <cstdint>
#include <limits>

#include "engine/certificate/encoded_formula.hpp"
#include "engine/certificate/evidence.hpp"

namespace twill {

/// How large a formula may become.
struct FormulaLimit {
  std::int64_t variables = std::numeric_limits<int>::max();
  std::int64_t clauses = std::numeric_limits<std::int64_t>::max();
  std::int64_t literals = std::numeric_limits<std::int64_t>::max();
};

/// Thrown where it would become larger.
struct FormulaTooLarge {};

/// `problem` is the serial problem where the refutation is about that. What makes the formula of a
/// stranger's request gives `limit`: a request of a few bytes can ask for more than there is
/// memory. Throws InputError when the encoding's text cannot be read, and FormulaTooLarge.
EncodedFormula regenerate(const Problem& problem, const Refutation& refutation,
                          const FormulaLimit& limit = {});

}  // namespace twill
