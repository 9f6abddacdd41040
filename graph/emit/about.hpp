// What the head of every emitted Python file says of its program.
#pragma once

#include <string>

#include "graph/emit/gluon.hpp"

namespace twill::emit {

/// Whose program it is, on which machine, its schedule (optimal or feasible), its interval I with
/// the proved bound (cycles of the machine file), its stages, and the hash of its problem: lines
/// that end in an empty one.
std::string about_program(const program::Program& program, const EmitOptions& options);

}  // namespace twill::emit
