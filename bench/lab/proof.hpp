// Another solver's refutation, checked.
#pragma once

#include <string>
#include <string_view>

namespace twill::bench {

/// "" = the DRAT proof, text or binary, refutes the DIMACS text; else why not. Throws InputError
/// where the text is no DIMACS.
std::string proof_refusal(std::string_view dimacs, const std::string& file, std::string_view proof);

}  // namespace twill::bench
