// The published checker, where it is installed: a second opinion on every proof.
#pragma once

#include <optional>
#include <string>

#include "engine/certificate/drat_proof.hpp"

namespace twill {

/// The path of an executable `drat-trim` on the PATH, or nullopt.
std::optional<std::string> find_drat_trim();

/// Runs it on a DIMACS file and a proof, which it is given as text, because it guesses the format.
/// True when it says "s VERIFIED". Throws InputError when it cannot be run.
bool drat_trim_verifies(const std::string& program, const std::string& cnf_path,
                        const DratProof& proof);

}  // namespace twill
