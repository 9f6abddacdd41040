// Fractions in files: 128, or [7, 2] for 7/2.
#pragma once

#include "graph/io/json_reader.hpp"
#include "graph/problem.hpp"

namespace twill {

/// In lowest terms; the numerator is at least `least`, both are at most kMaxAmount. Throws
/// InputError.
Fraction read_fraction(const JsonValue& value, Amount least);

nlohmann::ordered_json fraction_json(const Fraction& fraction);

}  // namespace twill
