// The formula of a refutation, made again from the problem: what checks a certificate calls this,
// and nothing else of the encoders.
#pragma once

#include "engine/certificate/encoded_formula.hpp"
#include "engine/certificate/evidence.hpp"

namespace twill {

/// `problem` is the serial problem where the refutation is about that. Throws InputError when the
/// encoding's text cannot be read.
EncodedFormula regenerate(const Problem& problem, const Refutation& refutation);

}  // namespace twill
