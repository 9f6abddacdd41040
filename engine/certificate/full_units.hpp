// Clauses about waits beside units that are hardly idle (encoders/order/full_units.cpp): what they
// rest on, counted a second time for the check of a certificate.
#pragma once

#include <string>

#include "engine/certificate/encoded_formula.hpp"
#include "engine/certificate/evidence.hpp"
#include "graph/problem.hpp"

namespace twill {

/// "" where the formula has none, or where they hold at the I that is refuted: they were made for
/// an I that is no smaller, a unit has no fewer cycles at it than are asked of it, and where it has
/// none to spare, no more clauses are there than ops that wait and leave a part of it unused. Else
/// what is wrong.
std::string full_units_fault(const Problem& problem, const Refutation& refutation,
                             const EncodedFormula& formula);

}  // namespace twill
