// Loops of scf.while that count: `while t < end: ...; t += step`.
//
// An iteration of such a loop is known to be executed before the one before it has ended, as of
// scf.for. (MLIR, "scf" dialect: of scf.while the first region says whether there is another
// iteration, and hands its operands to the second one.)
#pragma once

#include <optional>
#include <string>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The module's text with scf.for in the place of every scf.while that counts: its first region
/// compares one of what it carries with an integer from outside (signed, less than that) and hands
/// all on as it is; its second one adds a constant of 1 or more to that one. What it counts stays
/// one of what it carries. Lines stay as they are. nullopt = there is none.
std::optional<std::string> with_counted_loops(const Module& module);

}  // namespace twill::ttgir
